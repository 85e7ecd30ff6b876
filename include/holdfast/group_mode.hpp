// The mode of a group of clients with one joint: URL: which of its levels their locks need now.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::admin {

// The author of a change, and the reason. All of it is for people.
struct mode_author {
    std::string by{};  // a person or a program
    std::string host{};
    std::string reason{};
    std::int64_t pid = 0;
};

struct mode_change {
    std::uint64_t epoch = 0;
    std::vector<std::size_t> needed{};             // see group_mode
    std::chrono::system_clock::time_point when{};  // by the author's clock
    mode_author author{};
};

// Whether the group changes its mode by itself, and who said so last.
struct mode_automation {
    bool on = false;
    std::chrono::system_clock::time_point when{};  // by the author's clock
    mode_author author{};
};

// What one host of a group that changes its mode by itself reports about the levels.
struct level_report {
    std::string host{};
    std::vector<std::size_t> down{};  // indices of the levels that it cannot use
};

struct group_mode {
    std::string group{};
    std::string arbiter{};              // without user, password and options
    std::vector<std::string> levels{};  // likewise; the preferred one first
    std::uint64_t epoch = 0;            // counts the changes; 0: no client has used the group yet
    // Indices of levels: one, or two neighbours while the group changes from one to the other. The first of
    // two is the one that was used before.
    std::vector<std::size_t> needed{};
    // How long this mode must still last before the next change: see admin::switch_mode().
    std::chrono::milliseconds must_last{0};
    // With two levels: it has lasted that long, and stays until somebody changes it: see
    // admin::use_two_levels().
    bool settled = false;
    std::vector<mode_change> history{};           // the latest last; at most 20
    std::optional<mode_automation> automation{};  // empty: it was never set
    std::vector<level_report> reports{};          // only while automation is on; at most 5

    // The group uses this level and no other.
    [[nodiscard]] bool uses_only(std::size_t level) const noexcept {
        return needed.size() == 1 && needed.front() == level;
    }
};

// What people have to do so that a group uses one level without its arbiter: see admin::plan_pin().
struct pin_plan {
    std::string group{};
    std::string level{};                // as in group_mode::levels
    std::chrono::milliseconds wait{0};  // after the end of the last client, before the start of the first
    std::string url{};                  // for all clients, with pin=; "***" for each password
};

}  // namespace holdfast::admin
