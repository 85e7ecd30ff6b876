// Makes and loses connections. On the reactor thread, except for the beginning of `lose`.
#include "redis/connection/link.hpp"

#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <system_error>

#include <sys/epoll.h>
#include <unistd.h>

namespace holdfast::redis {

link::link(const node_config& config, io::reactor& r, std::function<void(const link_event&)> on_event,
           redirector redirect)
    : config_(config),
      redirect_(std::move(redirect)),
      reactor_(r),
      address_(address_text(config)),
      on_event_(std::move(on_event)),
      reconnector_(config_, purpose::commands, r) {
    // A Redis without TLS waits silently for the end of the greeting's line. That failure would be reported
    // only after the first callers have given up.
    last_fault_ = {errc::unavailable,
                   "not connected to " + address_ + " yet" + (config.tls ? "; does it speak TLS?" : "")};
}

link::~link() = default;

void link::start() {
    reactor_.post([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->connect();
    });
}

void link::connect() {
    reconnector_.begin(weak_from_this(),
                       {[this](connected made) { on_connected(std::move(made)); },
                        [this](const connect_failure& failure) { on_connect_failed(failure); },
                        [this](const host_port& to) { on_moved(to); }});
}

// Not in the constructor, which runs wherever a server of a cluster, or a connection for WAIT, is first
// needed. Without a free descriptor the connection counts as not made.
std::error_code link::make_wake() try {
    base::guard hold{mutex_};
    if (!wake_) wake_ = std::make_shared<const base::wake_fd>();
    return {};
} catch (const std::system_error& none_left) {
    return none_left.code();
}

void link::on_connected(connected made) {
    if (const auto no_descriptor = make_wake()) {
        on_connect_failed({connect_failure::what::unreachable,
                           {errc::unavailable, "cannot use the connection to " + made.info.address + ": " +
                                                   no_descriptor.message()}});
        reconnector_.lost();
        return;
    }
    reported_down_ = reported_refused_ = false;
    {
        base::guard hold{mutex_};
        info_ = made.info;
        address_ = made.info.address;
    }
    report({link_event::what::up, made.info, {}});

    const auto c = std::make_shared<connection>();
    c->stream = std::move(made.stream);
    c->replies = std::move(made.replies);
    base::guard hold{mutex_};
    if (state_ == state::closed) return;
    state_ = state::up;
    conn_ = c;
    fd_for_abandon_ = c->stream->fd();
    interest_ = EPOLLIN | EPOLLRDHUP;
    reactor_.watch(c->stream->fd(), interest_, [weak = weak_from_this()](std::uint32_t events) {
        if (const auto self = weak.lock()) self->on_ready(events);
    });
    // The reactor reads until a caller comes; callers that are parked already stay so until their replies.
    if (role_ == role::idle) role_ = role::reactor;
    if (has_unwritten()) write_out();
    if (has_work()) arm_tick();
}

void link::on_connect_failed(const connect_failure& failure) {
    const bool refused = failure.kind == connect_failure::what::refused;
    {
        base::guard hold{mutex_};
        if (state_ == state::closed) return;
        last_fault_ = failure.why;
        state_ = refused ? state::refused : state::down;
        if (refused && !queue_.empty()) {
            queued_bytes_ = 0;
            fail_soon(queue_, why_not_sent());
        }
    }
    // Reported once per outage, and again if its kind changes.
    bool& reported = refused ? reported_refused_ : reported_down_;
    if (!std::exchange(reported, true))
        report({refused ? link_event::what::refused : link_event::what::down, {}, failure.why});
}

// Replies from the former address no longer count, so callers would wait for them in vain.
void link::on_moved(const host_port& to) {
    {
        base::guard hold{mutex_};
        if (conn_) {
            const auto now = address_text(to);
            if (address_ != now)
                lose(conn_, {errc::unavailable, address_ + " is not the master, it is " + now});
            return;
        }
    }
    reconnector_.go_to(to);
}

// Called by the thread that notices. Drops the connection at once; the reactor reports it. By value: `c` is
// often conn_ itself, which is cleared here. NOLINTNEXTLINE(performance-unnecessary-value-param)
void link::lose(connection_ptr c, fault why) {
    if (conn_ != c) return;
    conn_.reset();
    state_ = state::down;
    fd_for_abandon_ = -1;
    last_fault_ = why;
    if (role_ == role::reactor) role_ = role::idle;
    c->stream->shut_down();  // wakes a caller in poll; the descriptor lives as long as `c`

    const auto lost = std::make_shared<operation_queue>();
    operation_queue untouched;
    untouched.append(c->turned_away);  // they were sent first
    while (!c->in_flight.empty()) {
        auto op = c->in_flight.pop_front();
        if (op->untouched(c->bytes_sent)) {
            // The server never received all of it: it goes to the next connection, in its old place.
            queued_bytes_ += op->what.bytes.size();
            untouched.push_back(std::move(op));
        } else {
            for_reactor_ -= op->caller_reads ? 0 : 1;
            lost->push_back(std::move(op));
        }
    }
    untouched.append(queue_);
    queue_.swap(untouched);
    auto earliest = time_point::max();
    queue_.each([&](const operation& op) { earliest = std::min(earliest, op.what.deadline); });
    arm_expiry(earliest);

    reactor_.post([weak = weak_from_this(), c, lost, why = std::move(why)] {
        if (const auto self = weak.lock()) self->report_loss(c, *lost, why);
    });
}

void link::report_loss(const connection_ptr& c, operation_queue& lost, const fault& why) {
    reactor_.unwatch(c->stream->fd());
    while (!lost.empty()) lost.pop_front()->finish(no_answer{{errc::unknown_outcome, why.text}});
    if (!std::exchange(reported_down_, true)) report({link_event::what::down, {}, why});
    reconnector_.lost();
}

void link::arm_expiry(time_point deadline) {
    if (deadline >= expiry_at_) return;
    expiry_at_ = deadline;
    reactor_.at(deadline, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->on_expiry();
    });
}

void link::on_expiry() {
    sweep(boot_clock::now());
    base::guard hold{mutex_};
    expiry_at_ = time_point::max();
    if (state_ != state::down) return;
    auto earliest = time_point::max();
    queue_.each([&](const operation& op) { earliest = std::min(earliest, op.what.deadline); });
    arm_expiry(earliest);
}

not_sent link::why_not_sent() const {
    switch (state_) {
        case state::closed: return {{errc::closed, "the connection to " + address_ + " is being closed"}};
        case state::refused: return {last_fault_};
        case state::down: return {{errc::unavailable, last_fault_.text}};
        case state::up: break;
    }
    return {{errc::unavailable, address_ + " took no more commands before the deadline"}};
}

std::string link::silent_text() const {
    return "no answer from " + address_ + " within " + base::to_text(config_.command_timeout);
}

void link::report(const link_event& e) {
    if (on_event_) on_event_(e);
}

server_info link::info() const {
    base::guard hold{mutex_};
    return info_;
}

void link::close() {
    const auto end = [this] {
        reconnector_.close();
        on_event_ = nullptr;
        connection_ptr c;
        operation_queue waiting;
        not_sent why;
        {
            base::guard hold{mutex_};
            state_ = state::closed;
            why = why_not_sent();
            c = std::move(conn_);
            conn_.reset();
            fd_for_abandon_ = -1;
            waiting.swap(queue_);
        }
        if (c) {
            reactor_.unwatch(c->stream->fd());
            c->stream->shut_down();
            while (!c->in_flight.empty())
                finish(*c->in_flight.pop_front(), no_answer{{errc::closed, why.text}});
            while (!c->turned_away.empty()) finish(*c->turned_away.pop_front(), not_sent{why});
        }
        while (!waiting.empty()) finish(*waiting.pop_front(), not_sent{why});
    };
    reactor_.run_and_wait(end);
}

void link::abandon() noexcept {
    // The mutex may be held by a thread that does not exist in the child.
    if (const int fd = fd_for_abandon_.exchange(-1); fd >= 0) ::close(fd);
}

}  // namespace holdfast::redis
