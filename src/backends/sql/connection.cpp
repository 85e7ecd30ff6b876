#include "backends/sql/connection.hpp"

#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <sys/epoll.h>
#include <sys/socket.h>

#include <new>
#include <utility>

namespace holdfast::sql_backend {

void connection::start(io::reactor& reactor, open_sockets& sockets, handlers to) {
    to_ = std::move(to);
    reactor_ = &reactor;
    sockets_ = &sockets;
    const base::guard lock(mutex_);
    sockets_->add(fd_.get(), socket());
    reactor_reads_ = !to_.reactor_reads;
    interest_ = reactor_reads_ ? EPOLLIN | EPOLLRDHUP : EPOLLRDHUP;
    reactor.watch(fd_.get(), interest_, [weak = weak_from_this()](std::uint32_t events) {
        if (const auto self = weak.lock()) self->on_event(events);
    });
}

bool connection::send(request& r) {
    const base::guard lock(mutex_);
    if (ended_ || broken_ || spent_) return false;
    const bool changes = r.what.what != nullptr && r.what.what->changes;
    in_flight_.push_back({.what = std::move(r), .at = boot_clock::now(), .changes = changes});
    bool submitted = false;
    try {
        arm();
        submitted = submit();
    } catch (const std::bad_alloc&) {  // before the driver has it
        in_flight_.pop_back();
        throw;
    }
    if (!submitted) {
        // The driver may have taken a part of it, and would send that with the next statement.
        spent_ = true;
        r = std::move(in_flight_.back().what);
        in_flight_.pop_back();
        reactor().post([weak = weak_from_this()] {
            if (const auto self = weak.lock())
                self->lose({make_error_code(errc::unavailable), "the connection is broken"});
        });
        return false;
    }
    count();
    set_interest();
    return true;
}

// Without EPOLLIN only the end of the connection, and room for what has to be sent, wake the reactor.
void connection::set_interest() {
    wants_room_ = flush();
    const std::uint32_t wanted = EPOLLRDHUP | (reactor_reads_ ? EPOLLIN : 0U) | (wants_room_ ? EPOLLOUT : 0U);
    if (wanted == interest_ || broken_) return;
    interest_ = wanted;
    reactor().modify(fd_.get(), wanted);
}

void connection::count() { in_flight_count_.store(ended_ || broken_ ? 0 : in_flight_.size()); }

void connection::let_reactor_read(bool does) {
    const base::guard lock(mutex_);
    reactor_reads_ = does;
    if (!ended_) set_interest();
}

void connection::on_event(std::uint32_t events) {
    // The interest is reset only now, so that the caller that reads has no system call for it.
    const bool reads = !to_.reactor_reads || to_.reactor_reads(*this);
    if (reads || (events & ~EPOLLIN) != 0) read_some();
    if (broken_) lose_broken();
}

void connection::lose_broken() {
    failure why;
    {
        const base::guard lock(mutex_);
        why = last_;
    }
    lose(std::move(why));
}

void connection::read_some() {
    progress p;
    {
        const base::guard lock(mutex_);
        if (ended_ || broken_) return;
        try {
            p.done.reserve(in_flight_.size());
            advance(p);
            if (!p.lost && spent_ && in_flight_.empty())
                p.lost = failure{make_error_code(errc::unavailable), server_.address + " serves no more"};
        } catch (const std::bad_alloc&) {
            // What was read in part cannot be read again.
            p.lost = failure{make_error_code(errc::out_of_memory), {}, {}};
        }
        if (p.lost) {
            if (!last_.code) last_ = *std::move(p.lost);
            broken_ = true;
        } else {
            set_interest();
        }
        count();
    }
    for (auto& one : p.done) one.done(std::move(one.result));
    if (to_.on_message)
        for (const auto& m : p.messages) to_.on_message(m);
    if (!p.lost) return;
    if (reactor().in_thread()) return lose_broken();
    try {
        reactor().post([self = shared_from_this()] { self->lose_broken(); });
    } catch (const std::bad_alloc&) {
        (void)::shutdown(fd_.get(), SHUT_RDWR);  // which on_event() notices
    }
}

void connection::finish_first(progress& p) {
    auto& first = in_flight_.front();
    if (to_.on_round_trip && first.begun) to_.on_round_trip(boot_clock::now() - first.at);
    p.done.push_back({std::move(first.what.done),
                      first.failed ? outcome{std::move(first.why)} : outcome{std::move(first.found)}});
    in_flight_.pop_front();
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): it may be of this connection, and outlives it
void connection::lose(failure why) {
    if (std::exchange(lost_, true)) return;
    std::deque<sent> left;
    {
        const base::guard lock(mutex_);
        left.swap(in_flight_);
        broken_ = true;
        count();
        reactor().unwatch(fd_.get());
        sockets_->remove(fd_.get());
        end_session();
        ended_ = true;
    }
    // A thread that polls it may keep it open.
    (void)::shutdown(fd_.get(), SHUT_RDWR);
    for (auto& one : left) {
        const bool may_have_an_effect = one.changes && one.begun;
        fail(one, {may_have_an_effect ? fault::effect::unknown : fault::effect::none, why});
        one.what.done(outcome{std::move(one.why)});
    }
    if (to_.on_lost && !closed_) to_.on_lost(why);
}

void connection::close(const failure& why) {
    closed_ = true;
    lose(why);
}

void connection::arm() {
    if (armed_ || in_flight_.empty()) return;
    reactor().at(in_flight_.front().at + answer_timeout_, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->on_timer();
    });
    armed_ = true;
}

// Neither the kernel nor a driver notices a server that is stopped.
void connection::on_timer() {
    read_some();  // it may be there, and nobody has read it
    {
        const base::guard lock(mutex_);
        armed_ = false;
        if (in_flight_.empty()) return;
        if (in_flight_.front().at + answer_timeout_ > boot_clock::now()) return arm();
    }
    lose({make_error_code(errc::unavailable),
          "no answer from " + server_.address + " within " + base::to_text(answer_timeout_)});
}

}  // namespace holdfast::sql_backend
