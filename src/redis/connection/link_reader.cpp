// Which thread reads the replies: callers, the reactor, and the hand-over between them.
#include "redis/connection/link.hpp"

#include "base/parker.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <utility>

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace holdfast::redis {

namespace {

// While a caller reads, or no thread needs to, only the end of the connection wakes the reactor, once.
constexpr std::uint32_t quiet = EPOLLRDHUP | EPOLLET;
constexpr std::uint32_t ended = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

}  // namespace

void link::run_io(base::parker& me, time_point until) {
    mutex_.lock();
    while (!me.unparked()) {
        const auto now = boot_clock::now();
        if (now >= until) {
            mutex_.unlock();
            return sweep(now);
        }
        // With nothing in flight the caller does not wait for a reply, and as the reader would only stand
        // between the next command and its own thread.
        if (role_ != role::caller && has_work()) {
            read_for(me, until, now);
        } else {
            wait(me, until);
        }
    }
    mutex_.unlock();
}

void link::read_for(base::parker& me, time_point until, time_point now) {
    role_ = role::caller;
    bool gave_up = false;
    while (state_ == state::up) {
        const auto c = conn_;
        if (has_unwritten() && !c->writing) write_out();
        if (conn_ != c) continue;
        const bool deep = c->in_flight.size() >= eager_depth;
        const bool want_room = !c->writing && c->outbox_begin < c->outbox.size();
        // A poll with a timeout costs a kernel timer, a twentieth of a near round trip. The tick, which is
        // armed anyway while something is in flight, pokes us before `until`; the rest of the time is polled
        // with a timeout.
        auto at_most = std::chrono::nanoseconds::max();
        if (until - now < 3 * tick_period) {
            at_most = until - now;
        } else {
            caller_until_ = until;
            arm_tick();
        }
        mutex_.unlock();

        auto got = pumped::nothing;
        if (deep) {
            // Replies are surely there: read before polling.
            base::guard pumping{pump_mutex_};
            got = pump(c);
        }
        if (got == pumped::nothing && !me.unparked())
            got = wait_and_pump(c, me, at_most, static_cast<short>(want_room ? POLLIN | POLLOUT : POLLIN));

        mutex_.lock();
        caller_until_ = time_point::max();
        if (me.unparked()) break;
        now = boot_clock::now();
        if (now >= until) {
            gave_up = true;
            break;
        }
        if (!has_work()) break;
    }
    role_ = role::idle;
    pass_reading_on(gave_up);
}

link::pumped link::wait_and_pump(const connection_ptr& c, base::parker& me, std::chrono::nanoseconds at_most,
                                 short poll_events) {
    pollfd fds[2] = {{c->stream->fd(), poll_events, 0}, {wake_->get(), POLLIN, 0}};
    timespec timeout{};
    const bool timed = at_most != std::chrono::nanoseconds::max();
    if (timed)
        timeout = {static_cast<time_t>(at_most.count() / 1'000'000'000),
                   static_cast<long>(at_most.count() % 1'000'000'000)};
    if (!me.poll_begin(wake_)) return pumped::nothing;
    const int n = ::ppoll(fds, 2, timed ? &timeout : nullptr, nullptr);
    me.poll_end();
    if (n <= 0) return pumped::nothing;
    if (fds[1].revents != 0) {
        std::uint64_t count = 0;
        [[maybe_unused]] const auto r = ::read(wake_->get(), &count, sizeof count);
    }
    if ((fds[0].revents & ~POLLOUT) == 0) return pumped::nothing;
    base::guard pumping{pump_mutex_};
    return pump(c);
}

// Ends the poll of the caller in run_io, so that it checks everything again.
void link::poke_caller() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto n = ::write(wake_->get(), &one, sizeof one);
}

// Another thread reads, or there is nothing to read.
void link::wait(base::parker& me, time_point until) {
    if (conn_ && conn_->in_flight.size() >= eager_depth) {
        // Many replies come together, so ours is likely among the next; a futex costs more than a check.
        mutex_.unlock();
        for (int i = 0; i < yields && !me.unparked(); ++i) ::sched_yield();
        mutex_.lock();
        if (me.unparked() || (role_ != role::caller && has_work())) return;
    }
    io::parked_caller mine{&me};
    parked_.push_back(&mine);
    mutex_.unlock();
    me.park_until(until);
    mutex_.lock();
    if (!mine.nudged) {
        std::erase(parked_, &mine);
    } else if (role_ == role::idle && boot_clock::now() >= until) {
        pass_reading_on(true);  // asked to take over, but out of time
    }
    // If nudged in time, `me` counts as unparked: run_io returns, and its caller finds no answer, calls again
    // and takes the role. If it has its answer after all and does not call, the next caller or the tick finds
    // the role idle.
}

// The role is idle; passes it on if needed. `leaver_gave_up`: the leaver's reply is still to come.
void link::pass_reading_on(bool leaver_gave_up) {
    if (state_ == state::up && has_unwritten() && !conn_->writing) write_out();
    if (role_ != role::idle || !has_work()) return;
    // The latest first: its reply likely comes last, so it will not have to hand over soon. A caller that
    // parked long ago waits for a lock rather than for a reply.
    for (auto it = parked_.rbegin(); it != parked_.rend(); ++it) {
        if ((*it)->who->unparked()) continue;
        (*it)->nudged = true;
        (*it)->who->unpark();  // under the mutex: the parker may be gone once its owner has passed us
        parked_.erase(std::next(it).base());
        return;
    }
    // Otherwise the threads that sent are about to call run_io; the reactor is needed for the rest.
    if (leaver_gave_up || for_reactor_ > 0 || has_unwritten()) let_reactor_read();
}

void link::let_reactor_read() {
    role_ = role::reactor;
    const bool want_room = conn_->outbox_begin < conn_->outbox.size();
    set_interest(want_room ? EPOLLIN | EPOLLOUT | EPOLLRDHUP : EPOLLIN | EPOLLRDHUP);
}

void link::set_interest(std::uint32_t epoll_events) {
    if (interest_ == epoll_events) return;
    interest_ = epoll_events;
    reactor_.modify(conn_->stream->fd(), epoll_events);
}

void link::on_ready(std::uint32_t events) {
    connection_ptr c;
    {
        base::guard hold{mutex_};
        if (!conn_) return;
        if (role_ != role::reactor) {
            // A caller took over since the interest was set. The interest is reset only now, so that the
            // caller's path has no system call for it.
            set_interest(quiet);
            if ((events & ended) == 0) return;
        }
        c = conn_;
    }
    if (!read_on_reactor(c) && (events & ended) != 0) {
        // The thread that pumps now may have missed the end, and edge-triggered epoll reports it once.
        reactor_.at(boot_clock::now() + std::chrono::milliseconds{1}, [weak = weak_from_this(), events] {
            if (const auto self = weak.lock()) self->on_ready(events);
        });
    }
}

// The reactor reads what is there, whichever thread has the role. False: another thread pumps now.
bool link::read_on_reactor(const connection_ptr& c) {
    if (!pump_mutex_.try_lock()) return false;
    // Bounded: other descriptors and timers need their turn. Level-triggered epoll brings us back.
    for (int i = 0; i < 16 && pump(c) == pumped::some; ++i) {
    }
    pump_mutex_.unlock();

    base::guard hold{mutex_};
    if (conn_ != c) return true;
    if (has_unwritten() && !c->writing) write_out();
    if (conn_ == c && (role_ == role::reactor || (role_ == role::idle && has_work()))) let_reactor_read();
    return true;
}

void link::arm_tick() {
    if (tick_armed_) return;
    tick_armed_ = true;
    reactor_.at(boot_clock::now() + tick_period, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->tick();
    });
}

// Runs only while commands come or go: an idle client does not wake.
void link::tick() {
    connection_ptr late;
    sweep(boot_clock::now());
    {
        base::guard hold{mutex_};
        tick_armed_ = false;
        if (state_ != state::up)
            return;  // arm_expiry watches waiting commands; on_connected arms the tick again
        const auto now = boot_clock::now();
        const auto since_tick = now - std::exchange(ticked_at_, now);
        if (!conn_->in_flight.empty()) {
            // A long pipeline is not dead while replies come. And if this process stood still, so did perhaps
            // the machine, and the reply may be there, unread.
            const auto quiet_for = now - std::max(conn_->in_flight.front().sent_at, conn_->last_reply);
            const auto counts = std::min<boot_clock::duration>(since_tick, 2 * tick_period);
            conn_->silence = quiet_for > since_tick ? conn_->silence + counts : std::min(quiet_for, counts);
            if (conn_->silence >= config_.command_timeout) {
                lose(conn_, {errc::unavailable, silent_text()});
                return;
            }
            if (quiet_for >= tick_period) late = conn_;
        }
        if (has_unwritten() && !conn_->writing) write_out();
        const bool caller_waits = caller_until_ != time_point::max();
        if (caller_waits && caller_until_ - now < 3 * tick_period) poke_caller();
        if (has_work() || caller_waits || submitted_ != submitted_at_tick_) arm_tick();
        submitted_at_tick_ = submitted_;
    }
    if (late) read_on_reactor(late);
}

}  // namespace holdfast::redis
