#include "zookeeper/session_connecting.hpp"

#include "base/random.hpp"
#include "base/text.hpp"
#include "io/thread.hpp"
#include "io/tls.hpp"

#include <holdfast/error.hpp>

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace holdfast::zookeeper {

namespace {

constexpr milliseconds first_pause{20};
constexpr milliseconds longest_pause{500};

}  // namespace

void session::seek() {
    {
        base::guard lock(mutex_);
        if (phase_ == phase::pausing) phase_ = phase::seeking;
        if (phase_ != phase::seeking || closing_) return;
    }
    pause_timer_ = {};
    if (connecting_) return;
    connecting_ = std::make_unique<connecting>();
    next_server();
}

void session::next_server() {
    auto& c = *connecting_;
    if (c.servers_tried++ == servers_.size()) return round_failed();
    c.to = &servers_[next_server_++ % servers_.size()];
    c.at = connecting::stage::name;
    c.addresses.clear();
    c.next_address = 0;
    c.timer = reactor_.at(boot_clock::now() + std::min(config_.answer_timeout / 2, timeout() / 4),
                          [weak = weak_from_this()] {
                              const auto self = weak.lock();
                              if (!self || !self->connecting_) return;
                              self->connecting_->timer = {};
                              self->server_failed("no answer in time", errc::unavailable);
                          });
    resolve();
}

// --- the name -------------------------------------------------------------------------------------------

void session::resolve() {
    auto& c = *connecting_;
    if (io::resolves_at_once(c.to->where)) {
        std::string why;
        const auto found = io::resolve(c.to->where, why);
        return on_resolved(found, why);
    }
    c.names = std::make_shared<lookup>(reactor_);
    const auto ask = [shared = c.names, to = c.to->where, weak = weak_from_this()] {
        try {
            std::string why;
            auto found = io::resolve(to, why);
            base::guard hold{shared->mutex};
            if (shared->notify == nullptr) return;
            shared->notify->post([weak, shared, found = std::move(found), why = std::move(why)] {
                const auto self = weak.lock();
                if (self && self->connecting_ && self->connecting_->names == shared)
                    self->on_resolved(found, why);
            });
        } catch (const std::bad_alloc&) {  // the timer reports that there was no answer
        }
    };
    try {
        io::start_thread("holdfast-names", ask);
    } catch (const std::exception& e) {
        server_failed(std::string{"no thread to resolve its name: "} + e.what(), errc::unavailable);
    }
}

void session::on_resolved(std::vector<io::address> found, const std::string& why) {
    auto& c = *connecting_;
    c.names.reset();
    if (found.empty()) return server_failed("the name cannot be resolved: " + why, errc::unavailable);
    c.addresses = std::move(found);
    next_address();
}

// --- the connection -------------------------------------------------------------------------------------

void session::next_address() {
    auto& c = *connecting_;
    c.stream = std::make_shared<io::stream>();
    c.in.clear();
    c.at = connecting::stage::tcp;
    if (const auto ec = c.stream->start_connect(c.to->where, c.addresses[c.next_address++]))
        return server_failed(ec.message(), errc::unavailable);
    c.watched = true;
    reactor_.watch(c.stream->fd(), EPOLLOUT, [weak = weak_from_this()](std::uint32_t ready) {
        if (const auto self = weak.lock()) self->on_stream(ready);
    });
}

// The handler of the descriptor, from the connect to the end of the connection.
void session::on_stream(std::uint32_t ready) {
    if (!connecting_ || !connecting_->stream) {
        if ((ready & EPOLLOUT) != 0U) {
            base::guard lock(mutex_);
            if (stream_) flush();
        }
        if ((ready & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0U) read();
        return;
    }
    auto& c = *connecting_;
    switch (c.at) {
        case connecting::stage::name: return;
        case connecting::stage::tcp:
            if (const auto ec = c.stream->finish_connect())
                return server_failed(ec.message(), errc::unavailable);
            if (!c.to->tls) return begin_login();
            if (auto renewed = c.to->tls->reread()) c.to->tls = std::move(renewed);
            c.stream->secure(*c.to->tls);
            c.at = connecting::stage::tls;
            [[fallthrough]];
        case connecting::stage::tls: {
            const auto step = c.stream->handshake();
            if (step.state == io::progress::done) return begin_login();
            if (step.state == io::progress::closed)
                return server_failed("the server closed the connection during the TLS handshake",
                                     errc::unavailable);
            if (step.state == io::progress::failed)
                return server_failed("TLS: " + step.error.message(), errc::unavailable);
            return reactor_.modify(c.stream->fd(), c.stream->handshake_wants_room() ? EPOLLOUT : EPOLLIN);
        }
        case connecting::stage::login:
            if (!c.out.empty()) send_login();
            if (connecting_ && connecting_->out.empty()) read_login();
    }
}

void session::begin_login() {
    auto& c = *connecting_;
    c.at = connecting::stage::login;
    c.login_sent = boot_clock::now();
    c.out =
        frame_of_login({last_zxid_, static_cast<std::int32_t>(config_.timeout.count()), session_, password_});
    send_login();
}

void session::send_login() {
    auto& c = *connecting_;
    while (!c.out.empty()) {
        const auto moved = c.stream->send_some(c.out);
        if (moved.state == io::progress::would_block) break;
        if (moved.state != io::progress::done) return server_failed(moved.error.message(), errc::unavailable);
        c.out.erase(0, moved.bytes);
    }
    reactor_.modify(c.stream->fd(), c.out.empty() ? EPOLLIN : EPOLLOUT);
}

void session::read_login() {
    auto& c = *connecting_;
    // Nothing follows the answer until a request is sent.
    std::array<char, io::receive_size> bytes;
    const auto moved = c.stream->recv_some(bytes);
    if (moved.state == io::progress::would_block) return;
    if (moved.state != io::progress::done)
        return server_failed("the server closed the connection", errc::unavailable, true);
    c.in.feed({bytes.data(), moved.bytes});
    const auto content = c.in.next();
    if (!content && !c.in.broken()) return;
    const auto found = content ? parse_login(*content) : std::nullopt;
    if (!found) return server_failed("it does not speak ZooKeeper's protocol", errc::unavailable);
    if (found->session != 0 && found->timeout_ms > 0) return on_login(*found);
    stop_connecting();
    expire("the servers ended it");
    seek();
}

// --- failures -------------------------------------------------------------------------------------------

void session::server_failed(const std::string& why, std::error_code reason, bool refused) {
    auto& c = *connecting_;
    const bool more = c.next_address < c.addresses.size() && c.timer.serial != 0;
    c.why = "no connection to " + base::printable(name_of(*c.to)) + ": " + why;
    c.reason = reason;
    if (refused) ++c.refusals;
    if (more) {
        if (std::exchange(c.watched, false)) reactor_.unwatch(c.stream->fd());
        c.stream.reset();
        return next_address();
    }
    stop_attempt();
    next_server();
}

void session::stop_attempt() {
    auto& c = *connecting_;
    if (const auto open = std::exchange(c.names, nullptr)) {
        base::guard hold{open->mutex};
        open->notify = nullptr;
    }
    if (c.timer.serial != 0) reactor_.cancel(c.timer);
    c.timer = {};
    // After a login the stream has moved on, and stays watched.
    if (std::exchange(c.watched, false) && c.stream) reactor_.unwatch(c.stream->fd());
    c.stream.reset();
}

void session::stop_connecting() {
    if (!connecting_) return;
    stop_attempt();
    connecting_.reset();
}

void session::round_failed() {
    const auto why = std::exchange(connecting_->why, {});
    const auto reason = connecting_->reason;
    const bool all_refuse = connecting_->refusals >= servers_.size();
    connecting_.reset();
    // A server that lacks transactions which we have seen refuses us. If all of them do so for long, their
    // data went back, and the session is gone or will be.
    if (all_refuse && last_zxid_ != 0 && boot_clock::now() > attached_until_ + 2 * timeout()) {
        last_zxid_ = 0;
        if (session_ != 0) expire("all servers lack data that they had");
    }
    std::deque<waiting> not_sent;
    {
        base::guard lock(mutex_);
        if (phase_ != phase::seeking) return;
        not_sent.swap(queue_);
        arm_deadlines();
        phase_ = session_ != 0 ? phase::pausing : phase::idle;
    }
    if (session_ != 0)
        seek_later();
    else
        ++failed_rounds_;
    drop(std::move(not_sent), why, reason);
}

void session::seek_later() {
    const auto pause = std::min(first_pause * (1 << std::min(failed_rounds_, 10U)), longest_pause);
    pause_timer_ = reactor_.at(
        boot_clock::now() + std::chrono::duration_cast<boot_clock::duration>(pause * (0.5 + base::jitter())),
        weakly(&session::seek));
    ++failed_rounds_;
}

}  // namespace holdfast::zookeeper
