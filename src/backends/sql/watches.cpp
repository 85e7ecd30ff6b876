#include "backends/sql/watches.hpp"

#include <utility>
#include <vector>

namespace holdfast::sql_backend {

using seen = backend::watch_event::change;

class watches::entry final : public backend::watch_handle {
  public:
    entry(std::shared_ptr<watches> in, place at, std::unique_ptr<backend::watch_handle> inner)
        : in_(std::move(in)), at_(at), inner_(std::move(inner)) {}
    ~entry() override {
        inner_.reset();
        in_->remove(at_);
    }

  private:
    const std::shared_ptr<watches> in_;
    const place at_;
    std::unique_ptr<backend::watch_handle> inner_;
};

std::unique_ptr<backend::watch_handle> watches::add(const std::string& channel,
                                                    std::unique_ptr<backend::watch_handle> inner,
                                                    const backends::waiter_registry::receiver& to) {
    place at;
    bool listening = channel.empty();
    auto now = mailbox::state::closed;
    {
        const base::guard lock(mutex_);
        at = waiters_.insert(waiters_.end(), {channel, to});
        if (box_ != nullptr) now = box_->open();
        if (!channel.empty()) {
            auto& c = channels_[channel];
            listening = c.listening;
            if (c.waiters++ == 0 && box_ != nullptr) {
                box_->listen(channel, [weak = weak_from_this(), channel] {
                    if (const auto self = weak.lock()) self->on_listening(channel);
                });
            }
        }
    }
    auto handle = std::make_unique<entry>(shared_from_this(), at, std::move(inner));
    if (now == mailbox::state::refused || now == mailbox::state::silent)
        (*to)({seen::refused, {}});
    else if (now == mailbox::state::open && listening)
        (*to)({seen::watching, {}});
    return handle;
}

void watches::close() {
    const base::guard lock(mutex_);
    box_ = nullptr;
}

void watches::remove(place at) {
    backends::waiter_registry::receiver last;  // destroyed without the lock
    const base::guard lock(mutex_);
    last = std::move(at->to);
    if (const auto c = channels_.find(at->channel); c != channels_.end() && --c->second.waiters == 0) {
        if (box_ != nullptr) box_->stop_listening(at->channel);
        channels_.erase(c);
    }
    waiters_.erase(at);
}

void watches::on_listening(const std::string& channel) {
    std::vector<backends::waiter_registry::receiver> all;
    {
        const base::guard lock(mutex_);
        const auto c = channels_.find(channel);
        if (c == channels_.end()) return;
        c->second.listening = true;
        for (const auto& w : waiters_)
            if (w.channel == channel) all.push_back(w.to);
    }
    for (const auto& to : all) (*to)({seen::watching, {}});
}

void watches::on_mailbox(mailbox::state now) {
    std::vector<backends::waiter_registry::receiver> all;
    {
        const base::guard lock(mutex_);
        if (now != mailbox::state::open)
            for (auto& [name, c] : channels_) c.listening = false;
        // Those at a channel wait until it is listened to again.
        for (const auto& w : waiters_)
            if (now != mailbox::state::open || w.channel.empty()) all.push_back(w.to);
    }
    const auto what = [now] {
        switch (now) {
            case mailbox::state::open: return seen::watching;
            case mailbox::state::silent:
            case mailbox::state::refused: return seen::refused;
            case mailbox::state::closed:
            case mailbox::state::opening: break;
        }
        return seen::broken;
    }();
    for (const auto& to : all) (*to)({what, {}});
}

}  // namespace holdfast::sql_backend
