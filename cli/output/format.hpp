// Formats locks for people and for programs.
#pragma once

#include <holdfast/admin.hpp>

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

using rows = std::vector<std::vector<std::string>>;

// Columns of equal width; the first row is the head. A long cell is not cut and does not widen its column:
// only the rest of its row moves to the right.
[[nodiscard]] std::string aligned(const rows& table);
// One line per row, columns separated by tabs, without the head: for cut, awk and the like.
[[nodiscard]] std::string tab_separated(const rows& table);

// "250ms", "2.5s", "1m30s", "2h05m", "3d4h": rounded for people.
[[nodiscard]] std::string rough(std::chrono::milliseconds d);

// The holder in a few words: "web-3:4242", "another client", with "+2" for more holders.
[[nodiscard]] std::string holder_text(const lock_info& lock);
// The same for one holder.
[[nodiscard]] std::string holder_text(const holder_info& holder);
// "1 dead waiter in the queue blocks it for 7h13m", for a free lock with lock_info::dead_waiters.
[[nodiscard]] std::string dead_waiters_text(const lock_info& lock);
// "web-3, pid 4242", or "another client" if holdfast knows nothing of it.
[[nodiscard]] std::string process_text(const std::string& host, std::int64_t pid);

// All that is known about a lock, in lines.
[[nodiscard]] std::string described(const lock_info& lock, std::chrono::system_clock::time_point now);

[[nodiscard]] nlohmann::ordered_json to_json(const lock_info& lock);
[[nodiscard]] nlohmann::ordered_json to_json(const holder_info& holder);
// Bytes as JSON text: unchanged if they are UTF-8, else escaped as for people.
[[nodiscard]] std::string json_text(const std::string& bytes);
[[nodiscard]] std::string iso_time(std::chrono::system_clock::time_point t);

// One line of JSON, valid for any input bytes and safe for a terminal.
[[nodiscard]] std::string one_line(const nlohmann::ordered_json& value);

}  // namespace holdfast::cli
