// Which thread reads the answers: a caller that waits for one, or the reactor.
#include "backends/sql/pool.hpp"
#include "base/parker.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace holdfast::sql_backend {

namespace {

// A poll with a timeout costs a kernel timer for each answer. Instead a timer of the reactor runs now and
// then while there is something to read, and ends a poll that is over soon.
constexpr std::chrono::milliseconds tick_period{100};

}  // namespace

bool pool::has_work() const {
    return std::any_of(all_.begin(), all_.end(), [](const auto& c) { return c->in_flight() != 0; });
}

void pool::run_io(base::parker& me, time_point until) {
    mutex_.lock();
    while (!me.unparked() && boot_clock::now() < until) {
        // With nothing in flight the caller does not wait for an answer, and would only stand between the
        // next statement and its own thread.
        if (role_ != role::caller && has_work())
            read_for(me, until);
        else
            wait_for_turn(me, until);
    }
    mutex_.unlock();
}

void pool::read_for(base::parker& me, time_point until) {
    role_ = role::caller;
    while (has_work() && !me.unparked()) {
        std::array<std::shared_ptr<connection>, most> open;
        std::array<pollfd, most + 1> fds{};
        nfds_t n = 0;
        for (const auto& c : all_) {
            if (c->descriptor() < 0) continue;
            fds[n] = {c->descriptor(), POLLIN, 0};
            open[n++] = c;
        }
        fds[n] = {wake_->get(), POLLIN, 0};
        const auto left = until - boot_clock::now();
        if (left <= left.zero()) break;
        const bool timed = left < 3 * tick_period;
        const timespec timeout{0, static_cast<long>(left.count())};
        if (!timed) caller_until_ = until;
        arm_tick();
        mutex_.unlock();

        if (me.poll_begin(wake_)) {
            const int ready = ::ppoll(fds.data(), n + 1, timed ? &timeout : nullptr, nullptr);
            me.poll_end();
            if (ready > 0 && fds[n].revents != 0) {
                std::uint64_t count = 0;
                [[maybe_unused]] const auto r = ::read(wake_->get(), &count, sizeof count);
            }
            // Stop early if the first was enough.
            for (nfds_t i = 0; ready > 0 && i < n && !me.unparked(); ++i)
                if (fds[i].revents != 0) open[i]->read_some();
        } else if (!me.unparked()) {
            me.park_until(std::min(until, boot_clock::now() + tick_period));  // memory is short
        }
        open = {};

        mutex_.lock();
        caller_until_ = io::time_point::max();
    }
    role_ = role::idle;
    pass_reading_on();
}

// Another thread reads, or there is nothing to read.
void pool::wait_for_turn(base::parker& me, time_point until) {
    io::parked_caller mine{&me};
    parked_.push_back(&mine);
    mutex_.unlock();
    me.park_until(until);
    mutex_.lock();
    if (!mine.nudged)
        std::erase(parked_, &mine);
    else if (boot_clock::now() >= until)
        pass_reading_on();  // asked to read, but out of time
    // If nudged in time, `me` counts as unparked: run_io returns, and its caller finds no answer, calls again
    // and reads. If it has its answer and does not call, the next caller or the tick finds the role idle.
}

// To a caller that waits; the latest, since its answer likely comes last. Otherwise to the reactor.
void pool::pass_reading_on() {
    if (role_ != role::idle || !has_work()) return;
    for (auto it = parked_.rbegin(); it != parked_.rend(); ++it) {
        if ((*it)->who->unparked()) continue;
        (*it)->nudged = true;
        (*it)->who->unpark();  // under the mutex: the parker may be gone once its owner has passed us
        parked_.erase(std::next(it).base());
        return;
    }
    let_reactor_read();
}

// Something was sent. A caller reads its answer itself, in a moment.
void pool::find_reader() {
    if (role_ == role::idle && reactor_.in_thread()) let_reactor_read();
}

void pool::let_reactor_read() {
    role_ = role::reactor;
    for (const auto& c : all_) c->let_reactor_read(true);
}

bool pool::reactor_reads(connection& one) {
    const base::guard lock(mutex_);
    if (role_ == role::reactor) return true;
    one.let_reactor_read(false);
    return false;
}

// Ends the poll of the caller, so that it looks at everything again.
void pool::poke_caller() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto n = ::write(wake_->get(), &one, sizeof one);
}

void pool::arm_tick() {
    if (tick_armed_) return;
    reactor_.at(boot_clock::now() + tick_period, [this, weak = life_] {
        if (const auto alive = weak.lock()) tick();
    });
    tick_armed_ = true;
}

// Runs only while there is something to read.
void pool::tick() {
    const base::guard lock(mutex_);
    tick_armed_ = false;
    const bool caller_waits = caller_until_ != io::time_point::max();
    if (caller_waits && caller_until_ - boot_clock::now() < 3 * tick_period) poke_caller();
    if (role_ == role::idle) pass_reading_on();
    if (caller_waits || has_work()) arm_tick();
}

}  // namespace holdfast::sql_backend
