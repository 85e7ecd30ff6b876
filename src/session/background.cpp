#include "session/background.hpp"

#include <utility>

namespace holdfast::session {

// --- acquire ----------------------------------------------------------------------------------------

background_acquire::background_acquire(const std::shared_ptr<cell>& of, callback<void(cell::outcome)> done)
    : core_(of->client()), here_(std::in_place, core_), done_(std::move(done)) {}

std::shared_ptr<background_acquire> background_acquire::begin(std::shared_ptr<cell> of,
                                                              const acquisition& how,
                                                              callback<void(cell::outcome)> done) {
    std::shared_ptr<background_acquire> b(new background_acquire(of, std::move(done)));
    b->me_ = b;
    // The place in the queue may outlive this object.
    b->way_.emplace(std::move(of), how, [me = b->weak_from_this()] {
        if (const auto here = me.lock()) here->poke();
    });
    b->poke();
    if (how.stop.stop_possible()) b->on_stop_.emplace(how.stop, on_stop{b.get()});
    return b;
}

void background_acquire::poke() {
    // One drive handles everything that comes before it runs.
    if (poked_.exchange(true)) return;
    core_.reactor().post([me = shared_from_this()] { me->drive(); });
}

void background_acquire::drive() {
    poked_.store(false);
    if (!me_) return;
    if (auto end = way_->advance()) {
        core_.reactor().cancel(timer_);
        const auto keep = std::move(me_);
        done_(std::move(*end));
        done_ = nullptr;
        here_.reset();
        return;
    }
    // A timer that fires early costs one look; a new timer for each step of many acquisitions would cost
    // more.
    if (way_->until() >= timer_at_) return;
    core_.reactor().cancel(timer_);
    timer_at_ = way_->until();
    timer_ = core_.reactor().at(timer_at_, [me = weak_from_this()] {
        if (const auto b = me.lock()) {
            b->timer_at_ = time_point::max();
            b->drive();
        }
    });
}

// --- release ----------------------------------------------------------------------------------------

background_release::background_release(std::shared_ptr<cell> of, std::shared_ptr<tenancy> t,
                                       callback<void(release_result)> done)
    : cell_(std::move(of)), core_(cell_->client()), of_(std::move(t)), done_(std::move(done)) {}

background_release::~background_release() {
    if (!ended_) finish({release_outcome::unknown_until, core_.store_frees(*of_, boot_clock::now())});
}

void background_release::begin(std::shared_ptr<cell> of, std::shared_ptr<tenancy> t,
                               callback<void(release_result)> done) {
    auto& c = of->client();
    auto b = std::make_shared<background_release>(std::move(of), std::move(t), std::move(done));
    c.reactor().post([b = std::move(b)] { b->send(); });
}

void background_release::ask_and_begin(std::shared_ptr<cell> of, std::shared_ptr<tenancy> t,
                                       callback<void(release_result)> done) {
    auto& c = of->client();
    auto b = std::make_shared<background_release>(std::move(of), std::move(t), std::move(done));
    c.reactor().post([b = std::move(b)] { b->ask_first(); });
}

void background_release::ask_first() {
    if (!core_.has_store()) return;
    const auto now = boot_clock::now();
    core_.confirm(of_, cell_->word_until(now), [b = shared_from_this(), now](bool held) {
        const auto of_store = held ? cell::word::still_held : cell::word::none;
        if (const auto end = b->cell_->let_go(b->of_, of_store, now)) return b->finish(*end);
        b->core_.reactor().post([b] { b->send(); });
    });
}

void background_release::send() {
    const auto now = boot_clock::now();
    machine_.emplace(cell_->releasing(*of_));
    obey(machine_->begin(now));
}

void background_release::obey(engine::release_action action) {
    if (const auto* end = std::get_if<engine::release_done>(&action)) {
        return finish(cell_->released(of_, *end));
    }
    if (!core_.has_store()) return;
    if (const auto* retry = std::get_if<engine::retry_release>(&action)) {
        core_.reactor().at(retry->at,
                           [b = shared_from_this()] { b->obey(b->machine_->begin(boot_clock::now())); });
        return;
    }
    const auto until = std::get<engine::send_release>(action).until;
    core_.store().release({of_->key, of_->owner, false}, core_.send_by(boot_clock::now(), until),
                          [b = shared_from_this()](const backend::release_answer& a) {
                              b->obey(b->machine_->on_answer(a, boot_clock::now()));
                          });
}

void background_release::finish(release_result r) {
    ended_ = true;
    core_.end_errand();
    if (done_) done_(std::move(r));
}

}  // namespace holdfast::session
