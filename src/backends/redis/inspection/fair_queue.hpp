// The queue of a free fair mutex: its head may be dead and block the lock for Redisson's clients.
#pragma once

#include "backends/redis/wire/store_context.hpp"
#include "store/inspection.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis_backend {

// The arguments of fair_queue.lua for one lock. Outlives the call.
class fair_queue_query {
  public:
    // Only reads the queue.
    fair_queue_query(const store_context&, const std::string& name);
    // Removes the owners of `absent` that are at the head and still absent.
    fair_queue_query(const store_context&, const std::string& name, const std::vector<std::string>& absent);
    [[nodiscard]] redis::database::eval_call call();
    [[nodiscard]] const std::string& name() const { return keys_[0]; }
    // Sets lock_info::dead_waiters and blocked_for from the answer of the script.
    static void read(const redis::outcome&, backend::lock_info&);
    // The owners that are absent, or that the script removed.
    [[nodiscard]] static std::vector<std::string> owners(const redis::outcome&);

  private:
    std::vector<std::string> keys_, args_;
    std::vector<std::string_view> key_views_, arg_views_;
};

// The name of the lock whose queue this key is; empty if the key is no such queue.
[[nodiscard]] std::string lock_of_fair_queue(std::string_view key);

}  // namespace holdfast::redis_backend
