#include "redis/connection/link.hpp"

#include "base/text.hpp"
#include "redis/connection/will_run_io.hpp"
#include "redis/protocol/errors.hpp"
#include "redis/protocol/script.hpp"

#include <holdfast/error.hpp>

#include <algorithm>

#include <sys/eventfd.h>
#include <unistd.h>

namespace holdfast::redis {

namespace {

// Above 0 while this thread runs handlers. It will not call run_io for what they submit.
thread_local int handlers_running = 0;
thread_local const link* latest = nullptr;  // only for comparison: may dangle

void run_handler(operation& op, outcome&& o) noexcept {
    ++handlers_running;
    op.finish(std::move(o));
    --handlers_running;
}

// If the first of several commands failed, its error is the outcome of all.
void first_error_stands_for_all(outcome& o) {
    auto* const r = std::get_if<reply>(&o);
    if (r == nullptr || !r->is_array() || r->items().empty() || !r->items().front().is_error()) return;
    o = std::move(std::move(*r).take_items().front());
}

bool may_be_redirected(const outcome& o) {
    if (const auto* r = std::get_if<reply>(&o)) return r->is_error();
    if (const auto* no = std::get_if<not_sent>(&o)) return no->code == errc::closed;
    return std::get<no_answer>(o).code == errc::closed;
}

void add_relaxed(std::atomic<std::uint64_t>& counter, std::uint64_t n) {
    // One writer at a time (the mutex), so no locked instruction is needed.
    counter.store(counter.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

}  // namespace

bool link::has_unwritten() const {
    return !queue_.empty() || (conn_ && conn_->outbox_begin < conn_->outbox.size());
}

bool link::has_work() const { return conn_ && (!conn_->in_flight.empty() || has_unwritten()); }

bool link::sent_on_last() const noexcept { return latest == this; }

void link::submit(std::span<request> requests) {
    const bool caller_reads = will_run_io::here() && handlers_running == 0;
    if (caller_reads) latest = this;
    operation_queue turned_away;
    not_sent why;
    mutex_.lock();
    for (auto& r : requests) {
        auto op = std::make_unique<operation>();
        op->what = std::move(r);
        op->caller_reads = caller_reads;
        if (state_ == state::refused || state_ == state::closed) {
            why = why_not_sent();
            turned_away.push_back(std::move(op));
            continue;
        }
        if (queued_bytes_ + op->what.bytes.size() > config_.caps.queued_bytes) {
            why = {{errc::unavailable, "too many commands wait for " + address_}};
            turned_away.push_back(std::move(op));
            continue;
        }
        queued_bytes_ += op->what.bytes.size();
        for_reactor_ += caller_reads ? 0 : 1;
        ++submitted_;
        if (state_ == state::down) arm_expiry(op->what.deadline);
        queue_.push_back(std::move(op));
    }
    if (state_ == state::up) {
        // Above the eager depth a reply is sure to come soon, and its reader writes all commands.
        if (!conn_->writing && (role_ == role::idle || conn_->in_flight.size() < eager_depth)) write_out();
        if (role_ == role::idle && for_reactor_ > 0 && has_work()) let_reactor_read();
        arm_tick();
    }
    mutex_.unlock();
    while (!turned_away.empty()) finish(*turned_away.pop_front(), why);
}

// For all ends of an operation, except those that a redirector cannot help.
void link::finish(operation& op, outcome&& o) noexcept {
    ++handlers_running;
    if (op.what.waits) first_error_stands_for_all(o);
    if (!redirect_ || !may_be_redirected(o) || !redirect_(op.what, o)) op.finish(std::move(o));
    --handlers_running;
}

// Puts the whole queue in flight.
void link::fill_outbox(connection& c) {
    if (queue_.empty() || c.draining) return;
    const auto now = boot_clock::now();
    operation_queue too_late;
    while (!queue_.empty()) {
        auto op = queue_.pop_front();
        queued_bytes_ -= op->what.bytes.size();
        if (op->what.deadline <= now) {
            too_late.push_back(std::move(op));
            continue;
        }
        op->sent_at = now;
        op->first_byte = c.bytes_planned;
        c.bytes_planned += op->what.bytes.size();
        op->past_last_byte = c.bytes_planned;
        c.outbox.append(op->what.bytes);
        add_relaxed(sent_, op->what.replies);
        c.in_flight.push_back(std::move(op));
    }
    if (!too_late.empty())
        fail_soon(too_late, {{errc::unavailable, address_ + " took no more commands before the deadline"}});
}

// Sends until all is sent or the socket is full. The mutex is free during send(); `writing` keeps other
// threads out, and what they queue meanwhile goes with the next round.
void link::write_out() {
    const auto c = conn_;
    c->writing = true;
    for (bool eager = true; conn_ == c; eager = false) {
        if (c->outbox_begin == c->outbox.size()) {
            // Another round serves other threads only, so leave it to the reader if there is one.
            if (!eager && role_ != role::idle && c->in_flight.size() >= eager_depth) break;
            c->outbox.clear();
            c->outbox_begin = 0;
            fill_outbox(*c);
            if (c->outbox.empty()) break;
        }
        const std::string_view rest = std::string_view{c->outbox}.substr(c->outbox_begin);
        const auto sent_before = c->bytes_sent;
        c->bytes_sent += rest.size();  // if the connection is lost now, all of this may have been sent
        mutex_.unlock();
        const auto t = c->stream->send_some(rest);
        mutex_.lock();
        if (conn_ != c) break;
        c->bytes_sent = sent_before + t.bytes;
        c->outbox_begin += t.bytes;
        if (t.state == io::progress::failed || t.state == io::progress::closed) {
            lose(c, {errc::unavailable, "the connection to " + address_ + " broke: " + t.error.message()});
            break;
        }
        if (t.state == io::progress::would_block) {
            // The reader must also wait for room.
            if (role_ == role::caller) {
                poke_caller();
            } else {
                let_reactor_read();
            }
            break;
        }
    }
    c->writing = false;
}

link::pumped link::pump(const connection_ptr& c) {
    const auto t = c->stream->recv_some(c->inbox);
    switch (t.state) {
        case io::progress::would_block: return pumped::nothing;
        case io::progress::closed:
        case io::progress::failed: {
            base::guard hold{mutex_};
            lose(c,
                 {errc::unavailable, t.state == io::progress::closed
                                         ? address_ + " closed the connection"
                                         : "the connection to " + address_ + " broke: " + t.error.message()});
            return pumped::lost;
        }
        case io::progress::done: break;
    }
    const auto now = boot_clock::now();
    c->replies->feed({c->inbox.data(), t.bytes});
    for (reply r;;) {
        switch (c->replies->next(r)) {
            case parser::result::got:
                if (!deliver(c, std::move(r), now)) return pumped::lost;
                break;
            case parser::result::need_more: return pumped::some;
            case parser::result::error: {
                base::guard hold{mutex_};
                lose(c, {errc::bad_reply, address_ + " broke the Redis protocol: " +
                                              base::printable(c->replies->error_text())});
                return pumped::lost;
            }
        }
    }
}

// Gives one reply to the oldest operation. False: the connection is gone.
bool link::deliver(const connection_ptr& c, reply&& r, time_point now) {
    std::unique_ptr<operation> answered;
    bool last_of_drained = false;
    {
        base::guard hold{mutex_};
        if (conn_ != c) return false;
        if (c->in_flight.empty()) {
            lose(c,
                 {errc::bad_reply, address_ + " sent a reply to no command: " + base::printable(r.text())});
            return false;
        }
        answered = account_for(*c, r, now);
        last_of_drained = c->draining && c->in_flight.empty();
    }
    if (answered) {
        if (!answered->what.script.empty() && r.is_error() && is_noscript(r.text())) {
            resend_whole_script(std::move(answered));
        } else {
            finish(*answered, std::move(r));
        }
    }
    if (last_of_drained) {
        // The server was demoted and has answered all that was in flight; now look for the master again.
        base::guard hold{mutex_};
        lose(c, {errc::busy_server, address_ + " is no master now"});
        return false;
    }
    return true;
}

// Takes the oldest operation out of flight if `r` is its last reply; `r` is then all its replies. Null: it
// waits for more replies or, since this server is no master, for the next connection.
std::unique_ptr<operation> link::account_for(connection& c, reply& r, time_point now) {
    const bool turned_away = config_.source && r.is_error() && is_no_master(r.text());
    const bool demoted = turned_away || (r.is_error() && is_readonly(r.text()));
    c.last_reply = now;
    c.draining = c.draining || demoted;
    auto& front = c.in_flight.front();
    if (front.what.replies > 1) {
        front.so_far.push_back(std::move(r));
        if (front.so_far.size() < front.what.replies) return nullptr;
        r = reply::of(std::move(front.so_far));
    }
    const auto took = (now - front.sent_at).count();
    const auto smooth = rtt_.load(std::memory_order_relaxed);
    rtt_.store(smooth == 0 ? took : smooth + (took - smooth) / 8, std::memory_order_relaxed);
    auto op = c.in_flight.pop_front();
    if (turned_away && op->what.replies == 1) {
        // Nothing was run, so it can be sent to the master.
        queued_bytes_ += op->what.bytes.size();
        c.turned_away.push_back(std::move(op));
        return nullptr;
    }
    for_reactor_ -= op->caller_reads ? 0 : 1;
    return op;
}

// NOSCRIPT means that nothing was run, so sending it again changes nothing twice.
void link::resend_whole_script(std::unique_ptr<operation> op) {
    op->what.bytes = as_eval(op->what.bytes, op->what.script);
    op->what.script = {};
    mutex_.lock();
    if (state_ == state::closed || state_ == state::refused) {
        const auto why = why_not_sent();
        mutex_.unlock();
        finish(*op, why);
        return;
    }
    queued_bytes_ += op->what.bytes.size();
    for_reactor_ += op->caller_reads ? 0 : 1;
    if (state_ == state::down) arm_expiry(op->what.deadline);
    queue_.push_back(std::move(op));
    if (state_ == state::up && !conn_->writing) write_out();
    mutex_.unlock();
}

// Runs the handlers on the reactor, so that none runs inside another caller's submit.
void link::fail_soon(operation_queue& ops, not_sent why) {
    end_counting(ops);
    const auto shared = std::make_shared<operation_queue>();
    shared->swap(ops);
    reactor_.post([shared, why = std::move(why)] {
        while (!shared->empty()) run_handler(*shared->pop_front(), why);
    });
}

// The reactor need not read their replies any more.
void link::end_counting(const operation_queue& ops) {
    std::size_t for_reactor = 0;
    ops.each([&](const operation& op) { for_reactor += op.caller_reads ? 0 : 1; });
    for_reactor_ -= for_reactor;
}

// Ends queued operations that are past their deadline, on this thread: a late reactor is one thread more to
// wait for, and "not sent" is a better answer than none.
void link::sweep(time_point now) {
    operation_queue all, late;
    not_sent why;
    {
        base::guard hold{mutex_};
        all.swap(queue_);
        while (!all.empty()) {
            auto op = all.pop_front();
            if (op->what.deadline > now) {
                queue_.push_back(std::move(op));
            } else {
                queued_bytes_ -= op->what.bytes.size();
                late.push_back(std::move(op));
            }
        }
        if (late.empty()) return;
        end_counting(late);
        why = why_not_sent();
    }
    while (!late.empty()) run_handler(*late.pop_front(), why);
}

}  // namespace holdfast::redis
