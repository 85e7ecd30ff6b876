#include "backends/redis/inspection/fair_queue.hpp"

#include "backends/redis/wire/keys.hpp"

#include <algorithm>

namespace holdfast::redis_backend {

fair_queue_query::fair_queue_query(const store_context& context, const std::string& name)
    : keys_{name, redisson_prefixed("redisson_lock_queue", name),
            redisson_prefixed("redisson_lock_timeout", name)},
      args_{redisson_channel(name) + ':',
            context.db.channels() == redis::pubsub::sharded ? "SHARDNUMSUB" : "NUMSUB", std::string{}} {}

fair_queue_query::fair_queue_query(const store_context& context, const std::string& name,
                                   const std::vector<std::string>& absent)
    : fair_queue_query(context, name) {
    args_[2] = context.publish();
    args_.insert(args_.end(), absent.begin(), absent.end());
}

redis::database::eval_call fair_queue_query::call() {
    key_views_.assign(keys_.begin(), keys_.end());
    arg_views_.assign(args_.begin(), args_.end());
    return {ref(redis_scripts::fair_queue), key_views_, arg_views_};
}

// A queue that cannot be read counts as one without dead waiters.
void fair_queue_query::read(const redis::outcome& o, backend::lock_info& info) {
    info.dead_waiters = owners(o).size();
    if (info.dead_waiters == 0) return;
    const auto left = std::get<redis::reply>(o).items()[0].integer();
    if (left >= 0) info.blocked_for = std::chrono::milliseconds{left};
}

std::vector<std::string> fair_queue_query::owners(const redis::outcome& o) {
    const auto* const answer = std::get_if<redis::reply>(&o);
    if (answer == nullptr || !answer->is_array() || answer->items().empty()) return {};
    std::vector<std::string> found;
    for (const auto& one : answer->items().subspan(1)) found.push_back(one.text());
    return found;
}

std::string lock_of_fair_queue(std::string_view key) {
    constexpr std::string_view prefix = "redisson_lock_queue:";
    if (!key.starts_with(prefix)) return {};
    auto name = key.substr(prefix.size());
    if (name.size() > 2 && name.front() == '{' && name.back() == '}' &&
        name.find('{', 1) == std::string_view::npos)
        name = name.substr(1, name.size() - 2);
    // Redisson puts no braces around a name with a '{'.
    if (name.empty() || name.size() > lock_name::max_size ||
        redisson_prefixed("redisson_lock_queue", name) != key)
        return {};
    return std::string{name};
}

}  // namespace holdfast::redis_backend
