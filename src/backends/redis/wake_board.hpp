// A wake channel of a client, and who waits for which message on it.
//
// A message is "<token> <score> <name>": the lock <name> was handed to <token>. If a watch is open for the
// token it is told; if not, the waiter is gone and the lock is given back at once. A watch stays open until
// the release of its token was sent, so that a message read late is not mistaken for an unwanted grant.
#pragma once

#include "base/annotations.hpp"
#include "redis/database.hpp"

#include <holdfast/backend.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace holdfast::redis_backend {

// Thread-safe.
class wake_board : public std::enable_shared_from_this<wake_board> {
  public:
    using handler = backend::handler<backend::watch_event>;
    // Called for a grant that nobody waits for, and for an eviction.
    using orphan_handler = std::function<void(std::string_view token, std::string_view name)>;
    using eviction_handler = std::function<void(std::string_view token)>;

    wake_board(redis::database& db, std::string channel, redis::pubsub how, orphan_handler orphan,
               eviction_handler evicted, std::function<void(std::string_view)> no_right);

    // The first watch subscribes, and the subscription stays for as long as the board lives.
    [[nodiscard]] std::unique_ptr<backend::watch_handle> watch(const owner_id& token, handler tell);

    // Ends the subscription. To be called before the database goes.
    void close();

  private:
    class entry;
    enum class state { unasked, asked, listening, refused };

    void on_event(const redis::sub_event& e);
    void on_message(std::string_view text);
    void tell_all(backend::watch_event::change what);

    redis::database& db_;
    const std::string channel_;
    const redis::pubsub how_;
    const orphan_handler orphan_;
    const eviction_handler evicted_;
    const std::function<void(std::string_view)> no_right_;

    base::mutex mutex_;
    state state_ GUARDED_BY(mutex_) = state::unasked;
    std::unordered_map<std::string, std::shared_ptr<handler>> watching_ GUARDED_BY(mutex_);
    std::unique_ptr<redis::subscription> subscription_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::redis_backend
