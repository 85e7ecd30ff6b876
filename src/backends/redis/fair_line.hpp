// The line of a fair mutex that is free: its head may be dead, and block the lock for Redisson's clients.
#pragma once

#include "backends/redis/layout.hpp"
#include "store/inspection.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis_backend {

// Arguments of fair_line.lua for one lock; outlives the call.
class line_question {
  public:
    // Looks only.
    line_question(const surroundings&, const std::string& name);
    // Removes those of `absent` that stand at the head and are absent still.
    line_question(const surroundings&, const std::string& name, const std::vector<std::string>& absent);
    [[nodiscard]] redis::database::eval_call call();
    [[nodiscard]] const std::string& name() const { return keys_[0]; }
    // Adds what the script said: lock_info::dead_waiters and blocked_for.
    static void read(const redis::outcome&, backend::lock_info&);
    // Returns the owners that are absent, or were removed.
    [[nodiscard]] static std::vector<std::string> owners(const redis::outcome&);

  private:
    std::vector<std::string> keys_, args_;
    std::vector<std::string_view> key_views_, arg_views_;
};

// The name of the lock whose line this key is; empty if it is none.
[[nodiscard]] std::string lock_of_line(std::string_view key);

}  // namespace holdfast::redis_backend
