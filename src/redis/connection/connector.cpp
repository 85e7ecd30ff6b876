#include "redis/connection/connector.hpp"

#include "base/annotations.hpp"
#include "base/text.hpp"
#include "io/thread.hpp"
#include "redis/connection/endpoint_source.hpp"
#include "redis/connection/tls_failure.hpp"

#include <holdfast/error.hpp>

#include <array>
#include <new>
#include <system_error>

#include <sys/epoll.h>

namespace holdfast::redis {

namespace {

connect_failure unreachable(std::string text) {
    return {connect_failure::what::unreachable, {errc::unavailable, std::move(text)}};
}

}  // namespace

// Shared with the resolving thread, which may outlive everything else here.
struct connector::lookup {
    base::mutex mutex;
    io::reactor* notify GUARDED_BY(mutex);  // null: no longer wanted

    explicit lookup(io::reactor& r) : notify(&r) {}
};

connector::connector(const node_config& config, purpose use, io::reactor& r, handler done)
    : config_(config), use_(use), reactor_(r), done_(std::move(done)), handshake_(config, use) {}

connector::~connector() { stop(); }

void connector::start() {
    give_up_ = boot_clock::now() + config_.connect_timeout;
    if (config_.source) return ask_where();
    log_in_and_resolve();
}

void connector::log_in_and_resolve() {
    if (config_.ask_login) {
        try {
            auto [user, password] = config_.ask_login(address_text(config_));
            config_.user = std::move(user);
            config_.password = std::move(password);
        } catch (const std::exception& e) {
            // Through the reactor, so that `done` never runs inside start.
            reactor_.post([weak = weak_from_this(), why = std::string{e.what()}] {
                const auto self = weak.lock();
                if (self && self->done_)
                    self->fail(unreachable("the credentials for " + address_text(self->config_) +
                                           " could not be asked for: " + base::printable(why)));
            });
            return;
        }
    }
    handshake_ = handshake(config_, use_);
    resolve();
}

void connector::ask_where() {
    timer_ = reactor_.at(give_up_, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->timer_ = {};
        self->fail(unreachable("no address of " + address_text(self->config_) + " within " +
                               base::to_text(self->config_.connect_timeout)));
    });
    config_.source->where([weak = weak_from_this()](const endpoint_source::answer& found) {
        const auto self = weak.lock();
        if (!self || !self->done_) return;
        self->stop();
        if (const auto* failure = std::get_if<connect_failure>(&found)) return self->fail(*failure);
        self->head_for(std::get<host_port>(found));
    });
}

void connector::head_for(const host_port& place) {
    target_ = place;
    config_ = config_at(std::move(config_), place);
    log_in_and_resolve();
}

void connector::resolve() {
    // The kernel gives up a connection without acknowledgements after as long as we wait for a reply.
    endpoint_ = {config_.host, config_.port, config_.unix_path, config_.command_timeout};
    if (!io::resolves_at_once(endpoint_)) return look_up();
    std::string why;
    // Through the reactor, so that `done` never runs inside start.
    reactor_.post([weak = weak_from_this(), found = io::resolve(endpoint_, why), why] {
        if (const auto self = weak.lock()) self->on_resolved(found, why);
    });
}

void connector::look_up() {
    lookup_ = std::make_shared<lookup>(reactor_);
    timer_ = reactor_.at(give_up_, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->timer_ = {};
        self->on_resolved({}, "no answer within " + base::to_text(self->config_.connect_timeout));
    });
    const auto ask = [shared = lookup_, to = endpoint_, weak = weak_from_this()] {
        try {
            std::string why;
            auto found = io::resolve(to, why);
            base::guard hold{shared->mutex};
            if (shared->notify == nullptr) return;
            shared->notify->post([weak, found = std::move(found), why = std::move(why)] {
                if (const auto self = weak.lock()) self->on_resolved(found, why);
            });
        } catch (const std::bad_alloc&) {
            // No memory to resolve or to report. The timer reports that there was no answer.
        }
    };
    try {
        io::start_thread("holdfast-names", ask);
    } catch (const std::system_error& no_thread) {
        // Through the reactor, as above.
        reactor_.post([weak = weak_from_this(), why = no_thread.code().message()] {
            if (const auto self = weak.lock()) self->on_resolved({}, "no thread for it: " + why);
        });
    } catch (const std::bad_alloc&) {
        // Likewise.
    }
}

void connector::on_resolved(std::vector<io::address> found, const std::string& why) {
    stop();
    addresses_ = std::move(found);
    if (!addresses_.empty()) return try_next();
    fail(unreachable("the host name \"" + base::printable(config_.host) + "\" cannot be resolved: " + why));
}

void connector::cancel() {
    done_ = nullptr;
    stop();
}

void connector::stop() {
    if (const auto open = std::exchange(lookup_, nullptr)) {
        base::guard hold{open->mutex};
        open->notify = nullptr;
    }
    if (timer_.serial != 0) reactor_.cancel(timer_);
    timer_ = {};
    if (watched_) reactor_.unwatch(stream_->fd());
    watched_ = false;
}

void connector::arm_timer() {
    // Each address gets its share of the time, so that one that drops packets does not hide the next.
    const auto now = boot_clock::now();
    const auto left = std::max(give_up_ - now, std::chrono::nanoseconds{0});
    const auto share = left / static_cast<std::int64_t>(addresses_.size() - next_address_ + 1);
    timer_ = reactor_.at(now + share, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) {
            self->timer_ = {};
            self->fail_address(std::make_error_code(std::errc::timed_out));
        }
    });
}

void connector::try_next() {
    if (!done_) return;
    stream_ = std::make_shared<io::stream>();
    parser_ = std::make_unique<parser>(config_.caps);
    sent_ = 0;
    broken_ = {};
    const auto& address = addresses_[next_address_++];
    if (const auto ec = stream_->start_connect(endpoint_, address)) {
        fail_address(ec);
        return;
    }
    phase_ = phase::connecting;
    arm_timer();
    watch(EPOLLOUT);
}

void connector::watch(std::uint32_t events) {
    if (watched_) {
        reactor_.modify(stream_->fd(), events);
        return;
    }
    watched_ = true;
    reactor_.watch(stream_->fd(), events, [weak = weak_from_this()](std::uint32_t) {
        if (const auto self = weak.lock()) self->on_event();
    });
}

void connector::on_event() {
    if (!done_) return;
    if (phase_ == phase::connecting) {
        broken_ = stream_->finish_connect();
        if (broken_ && (broken_ != std::errc::connection_reset || config_.tls)) return fail_address(broken_);
        phase_ = phase::greeting;
        if (config_.tls) {
            phase_ = phase::securing;
            if (auto renewed = config_.tls->reread()) config_.tls = std::move(renewed);
            stream_->secure(*config_.tls);
        }
    }
    if (phase_ == phase::securing) secure();
    if (phase_ != phase::greeting) return;
    send_rest();
    receive();
}

void connector::secure() {
    const auto t = stream_->handshake();
    switch (t.state) {
        case io::progress::would_block:
            watch(stream_->handshake_wants_room() ? EPOLLIN | EPOLLOUT : EPOLLIN);
            return;
        case io::progress::closed: fail_closed(); return;
        case io::progress::failed: fail_address(t.error); return;
        case io::progress::done: phase_ = phase::greeting; return;
    }
}

// A server that refuses us sends the reason and breaks the connection, perhaps before we have sent anything.
// So the reason is read even if sending fails.
void connector::send_rest() {
    const std::string_view rest = std::string_view{handshake_.request()}.substr(sent_);
    if (rest.empty() || broken_) return;
    const auto t = stream_->send_some(rest);
    if (t.state == io::progress::failed) {
        broken_ = t.error;
        return;
    }
    sent_ += t.bytes;
    watch(sent_ == handshake_.request().size() ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

void connector::receive() {
    std::array<char, io::receive_size> buffer;
    const auto t = stream_->recv_some(buffer);
    switch (t.state) {
        case io::progress::would_block:
            if (broken_) fail_address(broken_);
            return;
        case io::progress::closed:
            if (broken_ && handshake_.last_error().empty()) return fail_address(broken_);
            return fail_closed();
        case io::progress::failed: fail_address(t.error); return;
        case io::progress::done: break;
    }
    parser_->feed({buffer.data(), t.bytes});
    for (;;) {
        reply r;
        switch (parser_->next(r)) {
            case parser::result::need_more: return;
            case parser::result::error:
                if (!config_.tls && looks_like_tls({buffer.data(), t.bytes}))
                    return fail(speaks_tls(config_));
                fail({connect_failure::what::unreachable,
                      {errc::bad_reply, address_text(config_) + " does not speak the Redis protocol: " +
                                            base::printable(parser_->error_text())}});
                return;
            case parser::result::got: break;
        }
        switch (handshake_.resume(r)) {
            case handshake::state::waiting: break;
            case handshake::state::failed: fail(handshake_.failure()); return;
            case handshake::state::done: {
                stop();
                auto info = handshake_.info();
                if (config_.tls) info.tls = stream_->security();
                finish(connected{std::move(stream_), std::move(parser_), std::move(info)});
                return;
            }
        }
    }
}

void connector::fail_closed() {
    if (phase_ == phase::securing)
        return fail(unreachable(address_text(config_) + " closed the connection while TLS was agreed on"));
    const auto& error = handshake_.last_error();
    fail(unreachable(address_text(config_) + " closed the connection at once" +
                     (error.empty() ? tls_hint() : ": " + base::printable(error))));
}

// A server that waits for TLS ends the connection without a message.
std::string connector::tls_hint() const {
    const bool may_want_tls = phase_ == phase::greeting && !config_.tls && config_.unix_path.empty();
    return may_want_tls ? "; if it wants TLS, rediss:// is meant" : "";
}

void connector::fail_address(std::error_code ec) {
    if (!done_) return;
    // The server was reached; another address of it is no better.
    if (auto failure = tls_failure(config_, ec)) return fail(std::move(*failure));
    stop();
    if (next_address_ < addresses_.size()) {
        try_next();
        return;
    }
    const auto where = address_text(config_);
    if (ec == std::errc::connection_refused) {
        fail(unreachable("connection refused by " + where));
    } else if (ec == std::errc::timed_out) {
        const auto in_vain = "no answer from " + where + " within " + base::to_text(config_.connect_timeout);
        switch (phase_) {
            case phase::connecting: return fail(unreachable(in_vain + " while connecting"));
            case phase::securing:
                return fail(unreachable(in_vain + " while TLS was agreed on; does it speak TLS?"));
            case phase::greeting: return fail(unreachable(in_vain + " of connecting"));
        }
    } else {
        fail(unreachable("cannot connect to " + where + ": " + ec.message() +
                         (ec == std::errc::connection_reset ? tls_hint() : "")));
    }
}

void connector::fail(connect_failure f) {
    stop();
    stream_.reset();
    finish(std::move(f));
}

void connector::finish(std::variant<connected, connect_failure> how) {
    if (auto done = std::exchange(done_, nullptr)) done(std::move(how));
}

}  // namespace holdfast::redis
