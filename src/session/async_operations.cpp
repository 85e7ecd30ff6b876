#include "session/async_operations.hpp"

#include <new>
#include <utility>

namespace holdfast::session {

// --- acquire ----------------------------------------------------------------------------------------

async_acquire::async_acquire(const std::shared_ptr<client_lock>& of,
                             callback<void(client_lock::outcome)> done)
    : client_(of->client()), here_(std::in_place, client_), done_(std::move(done)) {}

std::shared_ptr<async_acquire> async_acquire::begin(std::shared_ptr<client_lock> of, const acquisition& how,
                                                    callback<void(client_lock::outcome)> done) {
    std::shared_ptr<async_acquire> b(new async_acquire(of, std::move(done)));
    b->me_ = b;
    // The place in the queue may outlive this object.
    b->operation_.emplace(std::move(of), how, [me = b->weak_from_this()] {
        if (const auto here = me.lock()) here->poke();
    });
    b->poke();
    if (how.stop.stop_possible()) b->on_stop_.emplace(how.stop, on_stop{b.get()});
    return b;
}

void async_acquire::poke() {
    // One call handles everything that comes before it runs.
    if (poked_.exchange(true)) return;
    try {
        client_.reactor().post([me = shared_from_this()] { me->advance(); });
    } catch (const std::bad_alloc&) {  // the next event tries again
        poked_.store(false);
    }
}

void async_acquire::advance() {
    poked_.store(false);
    if (!me_) return;
    if (auto end = operation_->advance()) {
        client_.reactor().cancel(timer_);
        const auto keep = std::move(me_);
        done_(std::move(*end));
        done_ = nullptr;
        here_.reset();
        return;
    }
    // A timer that fires early costs one look; a new timer for each step of many acquisitions would cost
    // more.
    if (operation_->until() >= timer_at_) return;
    client_.reactor().cancel(timer_);
    timer_at_ = operation_->until();
    timer_ = client_.reactor().at(timer_at_, [me = weak_from_this()] {
        if (const auto b = me.lock()) {
            b->timer_at_ = time_point::max();
            b->advance();
        }
    });
}

// --- release ----------------------------------------------------------------------------------------

async_release::async_release(std::shared_ptr<client_lock> of, std::shared_ptr<held_lease> t,
                             callback<void(release_result)> done)
    : lock_(std::move(of)), client_(lock_->client()), of_(std::move(t)), done_(std::move(done)) {}

async_release::~async_release() {
    if (!ended_) finish({release_outcome::unknown_until, client_.store_frees(*of_, boot_clock::now())});
}

void async_release::begin(const std::shared_ptr<client_lock>& of, const std::shared_ptr<held_lease>& t,
                          callback<void(release_result)> done) {
    start(of, t, std::move(done), &async_release::send);
}

void async_release::confirm_and_begin(const std::shared_ptr<client_lock>& of,
                                      const std::shared_ptr<held_lease>& t,
                                      callback<void(release_result)> done) {
    start(of, t, std::move(done), &async_release::ask_first);
}

void async_release::start(const std::shared_ptr<client_lock>& of, const std::shared_ptr<held_lease>& t,
                          callback<void(release_result)> done, void (async_release::*first)()) {
    std::shared_ptr<async_release> b;
    try {
        b = std::make_shared<async_release>(of, t, std::move(done));
        of->client().reactor().post([b, first] { (*b.*first)(); });
    } catch (const std::bad_alloc&) {
        auto end = of->end_without_answer(t);
        if (b) return b->finish(std::move(end));
        of->client().end_pending();
        if (done) done(std::move(end));
    }
}

void async_release::ask_first() {
    if (!client_.has_store()) return;
    const auto now = boot_clock::now();
    client_.confirm(of_, lock_->confirm_until(now), [b = shared_from_this(), now](bool held) {
        const auto of_store = held ? client_lock::confirmation::still_held : client_lock::confirmation::none;
        if (const auto end = b->lock_->end_locally(b->of_, of_store, now)) return b->finish(*end);
        b->client_.reactor().post([b] { b->send(); });
    });
}

void async_release::send() {
    const auto now = boot_clock::now();
    machine_.emplace(lock_->releasing(*of_));
    carry_out(machine_->begin(now));
}

void async_release::carry_out(engine::release_action action) {
    if (const auto* end = std::get_if<engine::release_done>(&action)) {
        return finish(lock_->released(of_, *end));
    }
    if (!client_.has_store()) return;
    if (const auto* retry = std::get_if<engine::retry_release>(&action)) {
        client_.reactor().at(
            retry->at, [b = shared_from_this()] { b->carry_out(b->machine_->begin(boot_clock::now())); });
        return;
    }
    const auto until = std::get<engine::send_release>(action).until;
    of_->store.release({of_->key, of_->owner, false}, client_.send_by(boot_clock::now(), until),
                       [b = shared_from_this()](const backend::release_answer& a) {
                           b->carry_out(b->machine_->on_answer(a, boot_clock::now()));
                       });
}

void async_release::finish(release_result r) {
    ended_ = true;
    client_.end_pending();
    if (done_) done_(std::move(r));
}

}  // namespace holdfast::session
