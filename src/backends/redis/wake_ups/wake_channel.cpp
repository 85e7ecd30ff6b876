#include "backends/redis/wake_ups/wake_channel.hpp"

#include <utility>

namespace holdfast::redis_backend {

using change = backend::watch_event::change;

wake_channel::wake_channel(redis::database& db, std::string channel, redis::pubsub how, callbacks to)
    : db_(db), name_(std::move(channel)), how_(how), callbacks_(std::move(to)) {}

std::unique_ptr<backend::watch_handle> wake_channel::watch(const backend::lock_key& key,
                                                           const owner_id& token, handler notify) {
    const auto shared = std::make_shared<handler>(std::move(notify));
    std::unique_ptr<backend::watch_handle> handle;
    bool first = false;
    auto known = change::watching;
    std::optional<std::string> refusal;
    {
        base::guard lock(mutex_);
        handle = backends::waiter_registry::add({shared_from_this(), &waiters_}, key, token, shared);
        first = state_ == state::unasked;
        if (first) state_ = state::asked;
        if (state_ == state::refused) known = change::refused;
        if (state_ == state::asked) known = change::broken;  // not yet: on_event will report it
        refusal = std::exchange(refusal_, std::nullopt);
    }
    if (first) subscribe();
    if (refusal) callbacks_.no_right(*refusal);
    if (known != change::broken) (*shared)({known, {}});
    return handle;
}

bool wake_channel::listen() {
    {
        base::guard lock(mutex_);
        if (state_ != state::unasked) return state_ != state::asked;
        state_ = state::asked;
    }
    subscribe();
    return false;
}

void wake_channel::subscribe() {
    auto s = db_.subscribe(
        name_,
        [weak = weak_from_this()](const redis::sub_event& e) {
            if (const auto self = weak.lock()) self->on_event(e);
        },
        how_);
    base::guard lock(mutex_);
    subscription_ = std::move(s);
}

void wake_channel::close() {
    std::unique_ptr<redis::subscription> s;
    {
        base::guard lock(mutex_);
        s = std::move(subscription_);
    }
}

void wake_channel::on_event(const redis::sub_event& e) {
    using what = redis::sub_event::what;
    switch (e.kind) {
        case what::subscribed: return notify_all(change::watching);
        case what::broken: return notify_all(change::broken);
        case what::refused: {
            bool matters = false;
            {
                base::guard lock(mutex_);
                matters = !waiters_.empty();
                if (!matters) refusal_.emplace(e.text);
            }
            if (matters) callbacks_.no_right(e.text);
            return notify_all(change::refused);
        }
        case what::message: return on_message(e.text);
    }
}

void wake_channel::on_message(std::string_view text) {
    const auto first = text.find(' ');
    const auto second = first == std::string_view::npos ? first : text.find(' ', first + 1);
    if (second == std::string_view::npos) return;  // not a message of ours
    const auto token = text.substr(0, first);
    const auto score = text.substr(first + 1, second - first - 1);
    const auto name = text.substr(second + 1);
    if (score == "evicted") {
        const auto third = name.find(' ');
        if (third == std::string_view::npos) return;
        return callbacks_.evicted(token, name.substr(0, third), name.substr(third + 1));
    }
    if (score == "gave_up") return callbacks_.gave_up(token);

    if (const auto waiting = waiters_.find(token))
        (*waiting)({change::woken, {std::string{score}}});
    else
        callbacks_.unwanted_grant(token, name);
}

void wake_channel::notify_all(change what) {
    {
        base::guard lock(mutex_);
        if (what == change::watching) {
            state_ = state::listening;
            refusal_.reset();  // no longer true
        } else if (what == change::refused)
            state_ = state::refused;
        else
            state_ = state::asked;
    }
    for (const auto& notify : waiters_.all()) (*notify)({what, {}});
}

}  // namespace holdfast::redis_backend
