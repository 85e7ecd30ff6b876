#include "backends/joint/mode_keeper.hpp"

#include "base/clock.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::joint_backend {

using backend::failure;
using backend::handler;
using backend::register_value;

namespace {

// A quarter of the mode lease is enough for some more requests before it is over.
constexpr int asks_per_lease = 4;

failure mode_not_known() { return {make_error_code(errc::unavailable), "the mode is not known yet", {}}; }
failure another_was_faster() {
    return {make_error_code(errc::lost), "another client has changed the mode", {}};
}

}  // namespace

void mode_keeper::close() {
    closed_ = true;
    with_.reactor.cancel(timer_);
}

void mode_keeper::ask_at(time_point when) {
    with_.reactor.post([self = shared_from_this(), when] {
        if (self->closed_) return;
        self->with_.reactor.cancel(self->timer_);
        self->timer_ = self->with_.reactor.at(when, [self] { self->ask(); });
    });
}

void mode_keeper::ask() {
    if (closed_) return;
    const auto now = boot_clock::now();
    const auto patience = std::min(with_.answer_timeout, with_.mode_lease / asks_per_lease);
    send_read(now + patience, [self = shared_from_this(), now](const answer& got) {
        const bool works = std::holds_alternative<confirmed_mode>(got);
        const auto pause = self->with_.mode_lease / (works ? asks_per_lease : asks_per_lease * 4);
        self->ask_at(now + std::max(pause, milliseconds{50}));
    });
}

void mode_keeper::need() {
    with_.reactor.post([self = shared_from_this()] {
        if (!std::exchange(self->is_needed_, true)) self->ask_at(boot_clock::now());
    });
}

void mode_keeper::read(time_point deadline, handler<answer> done) {
    with_.reactor.post([self = shared_from_this(), deadline, done = std::move(done)]() mutable {
        self->send_read(deadline, std::move(done));
    });
}

void mode_keeper::send_read(time_point deadline, handler<answer> done) {
    if (closed_) return done(closing());
    if (with_.in == nullptr) return done(take_pinned());
    const auto asked = boot_clock::now();
    with_.in->read(with_.name, known_, deadline,
                   [self = shared_from_this(), asked, deadline,
                    done = std::move(done)](backend::result<register_value> got) mutable {
                       self->with_.reactor.post(
                           [self, asked, deadline, done = std::move(done), got = std::move(got)]() mutable {
                               self->on_read(got, asked, deadline, std::move(done));
                           });
                   });
}

void mode_keeper::on_read(const backend::result<register_value>& got, time_point asked, time_point deadline,
                          handler<answer> done) {
    if (closed_) return done(closing());
    if (const auto* const no = std::get_if<failure>(&got)) return fail(*no, done);
    const auto& now = std::get<register_value>(got);
    is_unused_ = now.version == 0;
    if (now.version != 0) return done(take(now, asked));
    const bool was_there = [&] {
        const base::guard lock(mutex_);
        return mode_.has_value();
    }();
    if (was_there)
        return fail({make_error_code(errc::unavailable), "it has lost the mode: its register is empty", {}},
                    done);
    if (!is_needed_) {
        with_.unused();
        auto unused = first_mode(with_.agreed);
        unused.epoch = 0;
        return done(confirmed_mode{std::move(unused), asked});
    }
    send_change(first_mode(with_.agreed), 0, deadline,
                [self = shared_from_this(), done = std::move(done)](const answer& first) mutable {
                    if (const auto* const no = std::get_if<failure>(&first)) return self->fail(*no, done);
                    done(first);
                });
}

void mode_keeper::fail(const failure& why, const handler<answer>& done) {
    if (!closed_) with_.failed(why);
    done(why);
}

void mode_keeper::send_change(const mode_record& next, std::uint64_t version, time_point deadline,
                              handler<answer> done) {
    const auto asked = boot_clock::now();
    with_.in->change(
        with_.name, version, to_text(next), deadline,
        [self = shared_from_this(), asked,
         done = std::move(done)](backend::result<register_value> got) mutable {
            self->with_.reactor.post([self, asked, done = std::move(done), got = std::move(got)]() mutable {
                if (self->closed_) return done(closing());
                if (const auto* const no = std::get_if<failure>(&got)) {
                    self->ask_at(boot_clock::now());  // it may have been written
                    return done(*no);
                }
                done(self->take(std::get<register_value>(got), asked));
            });
        });
}

// What the arbiter said: the present mode, unless this client cannot use it.
mode_keeper::answer mode_keeper::take(const register_value& got, time_point asked) {
    auto mode = parse(got.text, with_.levels);
    if (!mode) {
        failure why{make_error_code(errc::invalid_argument),
                    "the arbiter's register \"" + with_.name + "\" holds no mode that this client knows",
                    {}};
        with_.failed(why);
        return why;
    }
    if (mode->agreed != with_.agreed) {
        failure why{make_error_code(errc::invalid_argument),
                    "this client has other settings than its group: the group has " +
                        base::printable(mode->agreed) + ", this client " + with_.agreed,
                    {}};
        with_.failed(why);
        return why;
    }
    {
        const base::guard lock(mutex_);
        const bool is_new = !mode_ || mode_->epoch < mode->epoch;
        if (is_new || mode_->needed != mode->needed) seen_ = boot_clock::now();
        // Answers may overtake each other.
        if (is_new || (mode_->epoch == mode->epoch && asked >= known_asked_)) {
            mode_ = mode;
            known_ = got;
            known_asked_ = asked;
        }
    }
    confirmed_mode now{std::move(*mode), asked};
    with_.confirmed(now);
    return now;
}

// Confirmed at each moment: nobody can change it.
mode_keeper::answer mode_keeper::take_pinned() {
    auto pinned = first_mode(with_.agreed);
    pinned.needed = with_.pinned;
    {
        const base::guard lock(mutex_);
        mode_ = pinned;
    }
    confirmed_mode now{std::move(pinned), boot_clock::now()};
    with_.confirmed(now);
    return now;
}

std::optional<mode_record> mode_keeper::known() const {
    const base::guard lock(mutex_);
    return mode_;
}

boot_clock::duration mode_keeper::must_last() const {
    const base::guard lock(mutex_);
    if (!mode_ || !mode_->is_joint() || mode_->settled) return {};
    const auto until = seen_ + shortest_joint_mode(with_.mode_lease, with_.max_skew, with_.margin);
    return std::max<boot_clock::duration>(until - boot_clock::now(), {});
}

// The arbiter refuses what follows if another client was faster: its register is not empty then.
std::optional<mode_record> mode_keeper::known_or_first() const {
    auto from = known();
    if (!from && is_unused_) from = first_mode(with_.agreed);
    return from;
}

backend::result<mode_record> mode_keeper::known_at(std::uint64_t epoch) const {
    auto from = known_or_first();
    if (!from) return mode_not_known();
    if (from->epoch != std::max<std::uint64_t>(epoch, 1)) return another_was_faster();
    return *std::move(from);
}

std::optional<failure> mode_keeper::must_wait() const {
    const auto left = must_last();
    if (left <= boot_clock::duration::zero()) return std::nullopt;
    return failure{make_error_code(errc::busy_server),
                   "the mode must last for another " + base::to_text(std::chrono::ceil<milliseconds>(left)),
                   {}};
}

void mode_keeper::change(std::uint64_t from_epoch, needed_levels to, change_signature by, changed_by how,
                         time_point deadline, handler<answer> done) {
    with_.reactor.post([self = shared_from_this(), from_epoch, to = std::move(to), by = std::move(by), how,
                        deadline, done = std::move(done)]() mutable {
        if (self->closed_) return done(closing());
        auto known = self->known_at(from_epoch);
        if (const auto* const no = std::get_if<failure>(&known)) return done(*no);
        auto& from = std::get<mode_record>(known);
        // Two clients that change the mode automatically do not take over from an operator.
        if (how == changed_by::majority && !from.is_automatic()) return done(another_was_faster());
        if (auto no = self->must_wait(); no && to.size() == 1) return done(*std::move(no));
        self->propose(changed(std::move(from), std::move(to), by.at, std::move(by.author), how), deadline,
                      std::move(done));
    });
}

void mode_keeper::settle(std::uint64_t epoch, change_signature by, time_point deadline,
                         handler<answer> done) {
    with_.reactor.post(
        [self = shared_from_this(), epoch, by = std::move(by), deadline, done = std::move(done)]() mutable {
            if (self->closed_) return done(closing());
            auto known = self->known_at(epoch);
            if (const auto* const no = std::get_if<failure>(&known)) return done(*no);
            if (auto no = self->must_wait()) return done(*std::move(no));
            self->propose(settled(std::get<mode_record>(std::move(known)), by.at, std::move(by.author)),
                          deadline, std::move(done));
        });
}

void mode_keeper::automate(bool on, change_signature by, time_point deadline, handler<answer> done) {
    with_.reactor.post(
        [self = shared_from_this(), on, by = std::move(by), deadline, done = std::move(done)]() mutable {
            if (self->closed_) return done(closing());
            auto from = self->known_or_first();
            if (!from) return done(mode_not_known());
            self->propose(automated(*std::move(from), on, by.at, std::move(by.author)), deadline,
                          std::move(done));
        });
}

void mode_keeper::propose(const mode_record& next, time_point deadline, handler<answer> done) {
    if (with_.in == nullptr)
        return done(failure{
            make_error_code(errc::invalid_argument), "the URL has pin=, so the mode cannot be changed", {}});
    send_change(next, known_.version, deadline,
                [done = std::move(done), text = to_text(next)](const answer& got) mutable {
                    const auto* const now = std::get_if<confirmed_mode>(&got);
                    if (now != nullptr && to_text(now->what) != text) return done(another_was_faster());
                    done(got);
                });
}

}  // namespace holdfast::joint_backend
