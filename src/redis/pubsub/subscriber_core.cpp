#include "redis/pubsub/subscriber_core.hpp"

#include "base/text.hpp"
#include "redis/protocol/command.hpp"
#include "redis/protocol/errors.hpp"

#include <algorithm>
#include <optional>

#include <sys/epoll.h>
#include <unistd.h>

namespace holdfast::redis {

namespace {

// After this time without a byte the server is sent a PING. Waiters poll every second anyway, so a dead
// connection costs them polls, not locks; a shorter time would only make idle clients busy.
constexpr std::chrono::seconds silence{10};

}  // namespace

subscriber::core::core(const node_config& config, io::reactor& r)
    : config_(config), reactor_(r), reconnector_(config_, purpose::subscriptions, r) {}

// --- from any thread -------------------------------------------------------------------------

std::shared_ptr<listener> subscriber::core::join(std::string name, sub_handler handler, pubsub how) {
    auto l = std::make_shared<listener>();
    l->channel = std::move(name);
    l->handler = std::move(handler);
    base::guard hold{mutex_};
    auto& c = channels_[l->channel];
    c.listeners.push_back(l);
    c.how = how;
    note_change(l->channel);
    return l;
}

void subscriber::core::leave(const std::shared_ptr<listener>& l) {
    sub_handler dropped;
    base::guard hold{mutex_};
    l->left = true;
    if (const auto it = channels_.find(l->channel); it != channels_.end()) {
        std::erase(it->second.listeners, l);
        if (it->second.listeners.empty()) note_change(l->channel);
    }
    // On the reactor thread a handler calls this, and would wait for itself.
    if (reactor_.in_thread()) return;
    while (l->running) handler_ended_.wait(mutex_);
    dropped = std::move(l->handler);  // destroys its captures now, not when the reactor drops it
    hold.unlock();
}

void subscriber::core::note_change(const std::string& name) {
    changed_.push_back(name);
    if (std::exchange(settle_posted_, true)) {
        // Subscriptions that come and go faster than the reactor settles them must not pile up.
        if (changed_.size() > 1024) {
            std::sort(changed_.begin(), changed_.end());
            changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
        }
        return;
    }
    reactor_.post([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->settle();
    });
}

void subscriber::core::abandon() noexcept {
    if (const int fd = fd_for_abandon_.exchange(-1); fd >= 0) ::close(fd);
}

// --- the reactor: channels -------------------------------------------------------------------

void subscriber::core::settle() {
    std::vector<std::string> names;
    {
        base::guard hold{mutex_};
        names.swap(changed_);
        settle_posted_ = false;
    }
    if (closed_) return;
    if (!started_) {
        started_ = true;
        connect();
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    for (const auto& name : names) settle(name);
    if (stream_) flush();
}

void subscriber::core::settle(const std::string& name) {
    std::optional<sub_event::what> state;
    std::string refusal;
    {
        base::guard hold{mutex_};
        const auto it = channels_.find(name);
        if (it == channels_.end()) return;
        channel& c = it->second;
        const bool wanted = !c.listeners.empty();
        if (stream_ && wanted != c.asked) {
            const std::string_view verb = wanted ? "SSUBSCRIBE" : "SUNSUBSCRIBE";
            append_command(outbox_, verb.substr(c.how == pubsub::sharded ? 0 : 1), std::string_view{name});
            expected_.push_back({wanted ? expected::what::subscribe : expected::what::unsubscribe, name});
            c.asked = wanted;
            c.confirmed = c.refused = false;
            ++c.unconfirmed;
            if (expected_.size() == 1) expect_answer();
        }
        if (wanted && c.confirmed) state = sub_event::what::subscribed;
        if (wanted && c.refused) {
            state = sub_event::what::refused;
            refusal = c.refusal;
        }
    }
    if (state) notify(listeners_of(name), {*state, refusal});  // for new listeners; the others have it
    forget_if_unused(name);
}

void subscriber::core::forget_if_unused(const std::string& name) {
    base::guard hold{mutex_};
    const auto it = channels_.find(name);
    if (it == channels_.end()) return;
    const channel& c = it->second;
    if (c.listeners.empty() && !c.asked && c.unconfirmed == 0) channels_.erase(it);
}

subscriber::core::listeners subscriber::core::listeners_of(const std::string& name) {
    base::guard hold{mutex_};
    const auto it = channels_.find(name);
    return it == channels_.end() ? listeners{} : it->second.listeners;
}

void subscriber::core::notify(const listeners& to, const sub_event& event) {
    for (const auto& l : to) {
        {
            base::guard hold{mutex_};
            if (l->left) continue;
            switch (event.kind) {
                case sub_event::what::subscribed:
                case sub_event::what::refused:
                    if (std::exchange(l->notified, true)) continue;
                    break;
                case sub_event::what::broken: l->notified = false; break;
                case sub_event::what::message: break;
            }
            l->running = true;
        }
        l->handler(event);
        {
            base::guard hold{mutex_};
            l->running = false;
        }
        handler_ended_.notify_all();
    }
}

// --- the reactor: the connection -------------------------------------------------------------

void subscriber::core::connect() {
    reconnector_.begin(weak_from_this(),
                       {[this](connected made) { on_connected(std::move(made)); },
                        [this](const connect_failure& failure) { on_connect_failed(failure); },
                        [this](const host_port& to) { on_moved(to); }});
}

void subscriber::core::on_connected(connected made) {
    address_ = made.info.address;
    stream_ = std::move(made.stream);
    parser_ = std::move(made.replies);
    fd_for_abandon_ = stream_->fd();
    outbox_.clear();
    waits_for_room_ = false;
    expected_.clear();
    last_received_ = boot_clock::now();
    reactor_.watch(stream_->fd(), EPOLLIN, [weak = weak_from_this()](std::uint32_t) {
        if (const auto self = weak.lock()) self->on_ready();
    });
    arm_check(last_received_ + silence);
    std::vector<std::string> names;
    {
        base::guard hold{mutex_};
        for (auto& [name, c] : channels_) {
            c.asked = c.confirmed = c.refused = false;
            c.unconfirmed = 0;
            for (const auto& l : c.listeners) l->notified = false;  // it may be set by a refusal
            names.push_back(name);
        }
    }
    for (const auto& name : names) settle(name);
    flush();
}

void subscriber::core::on_connect_failed(const connect_failure& failure) {
    if (failure.kind != connect_failure::what::refused) return;
    listeners all;
    {
        base::guard hold{mutex_};
        for (const auto& [name, c] : channels_) all.insert(all.end(), c.listeners.begin(), c.listeners.end());
    }
    notify(all, {sub_event::what::refused, failure.why.text});
}

// Nothing is published at the former address now.
void subscriber::core::on_moved(const host_port& to) {
    if (closed_) return;
    if (stream_) {
        const auto now = address_text(to);
        if (address_ != now) lose(address_ + " is not the master, it is " + now);
    } else {
        reconnector_.go_to(to);
    }
}

void subscriber::core::flush() {
    if (outbox_.empty()) return;
    const auto t = stream_->send_some(outbox_);
    if (t.state == io::progress::failed) {
        lose(t.error.message());
        return;
    }
    outbox_.erase(0, t.bytes);
    if (std::exchange(waits_for_room_, !outbox_.empty()) != waits_for_room_)
        reactor_.modify(stream_->fd(), waits_for_room_ ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void subscriber::core::on_ready() {
    if (!stream_) return;
    const auto stream = stream_;
    const auto t = stream->recv_some(inbox_);
    switch (t.state) {
        case io::progress::would_block: break;
        case io::progress::closed: lose("closed by the server"); return;
        case io::progress::failed: lose(t.error.message()); return;
        case io::progress::done: {
            last_received_ = boot_clock::now();
            parser_->feed({inbox_.data(), t.bytes});
            for (;;) {
                reply r;
                const auto got = parser_->next(r);
                if (got == parser::result::need_more) break;
                if (got == parser::result::error) {
                    lose("protocol error: " + parser_->error_text());
                    return;
                }
                take(r);
                if (stream_ != stream) return;  // the reply ended the connection
            }
        }
    }
    flush();
}

void subscriber::core::take(const reply& r) {
    const auto items = r.items();
    const std::string_view verb = items.size() == 3 ? items[0].text() : std::string_view{};
    if (verb == "message" || verb == "smessage") {
        notify(listeners_of(items[1].text()), {sub_event::what::message, items[2].text()});
        return;
    }
    if (verb == "sunsubscribe" &&
        (expected_.empty() || expected_.front().kind != expected::what::unsubscribe ||
         expected_.front().channel != items[1].text())) {
        on_server_unsubscribed(items[1].text());
        return;
    }
    if (expected_.empty()) {
        lose("a reply to no command: " + r.text());
        return;
    }
    const expected e = std::move(expected_.front());
    expected_.pop_front();
    if (e.kind == expected::what::pong) return;

    bool answered = false;
    {
        base::guard hold{mutex_};
        const auto it = channels_.find(e.channel);
        if (it != channels_.end()) {
            channel& c = it->second;
            --c.unconfirmed;
            // The reply to an older command says nothing about later ones.
            if (e.kind == expected::what::subscribe && c.unconfirmed == 0 && c.asked) {
                // `asked` stays set, so that a refused channel is retried on the next connection only.
                c.confirmed = !r.is_error();
                c.refused = r.is_error();
                c.refusal = r.text();
                answered = true;
            }
        }
    }
    if (answered)
        notify(listeners_of(e.channel),
               {r.is_error() ? sub_event::what::refused : sub_event::what::subscribed,
                r.is_error() ? std::string_view{r.text()} : std::string_view{}});
    forget_if_unused(e.channel);
}

// The server no longer serves the channel.
void subscriber::core::on_server_unsubscribed(const std::string& name) {
    listeners were_subscribed;
    {
        base::guard hold{mutex_};
        const auto it = channels_.find(name);
        if (it == channels_.end()) return;
        channel& c = it->second;
        c.asked = c.confirmed = c.refused = false;
        for (const auto& l : c.listeners)
            if (l->notified) were_subscribed.push_back(l);
    }
    notify(were_subscribed, {sub_event::what::broken, "the channel is served by another server"});
    settle(name);
}

void subscriber::core::lose(const std::string& why) {
    reactor_.unwatch(stream_->fd());
    fd_for_abandon_ = -1;
    stream_.reset();
    outbox_.clear();
    expected_.clear();
    if (check_timer_.serial != 0) reactor_.cancel(std::exchange(check_timer_, {}));
    listeners all;
    {
        base::guard hold{mutex_};
        for (auto it = channels_.begin(); it != channels_.end();) {
            channel& c = it->second;
            c.asked = c.confirmed = c.refused = false;
            c.unconfirmed = 0;
            if (c.listeners.empty()) {
                it = channels_.erase(it);
                continue;
            }
            for (const auto& l : c.listeners)
                if (l->notified) all.push_back(l);
            ++it;
        }
    }
    reconnector_.lost();
    notify(all, {sub_event::what::broken, why});
}

// Runs when an answer, or any sign of life, may be overdue.
void subscriber::core::check_silence() {
    check_timer_ = {};
    if (!stream_) return;
    const auto now = boot_clock::now();
    const auto due = expected_.empty() ? last_received_ + silence
                                       : std::max(asked_at_, last_received_) + config_.command_timeout;
    if (now < due) {
        arm_check(due);
    } else if (!expected_.empty()) {
        lose("no answer within " + base::to_text(config_.command_timeout));
    } else {
        append_command(outbox_, std::string_view{"PING"});
        expected_.push_back({expected::what::pong, {}});
        expect_answer();
        flush();
    }
}

void subscriber::core::expect_answer() {
    asked_at_ = boot_clock::now();
    arm_check(asked_at_ + config_.command_timeout);
}

// Keeps the earlier of `when` and the armed time.
void subscriber::core::arm_check(io::time_point when) {
    if (check_timer_.serial != 0) {
        if (check_timer_.when <= when) return;
        reactor_.cancel(check_timer_);
    }
    check_timer_ = reactor_.at(when, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->check_silence();
    });
}

void subscriber::core::close() {
    closed_ = true;
    reconnector_.close();
    if (check_timer_.serial != 0) reactor_.cancel(check_timer_);
    if (stream_) reactor_.unwatch(stream_->fd());
    fd_for_abandon_ = -1;
    stream_.reset();
}

}  // namespace holdfast::redis
