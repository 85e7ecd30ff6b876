// The messages between the director and its processes: one report or order a line.
#pragma once

#include "lab/base/scheme.hpp"

#include <holdfast/types.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::lab {

// The points at which every scheme stops. A process that runs to a point that its scheme does not have (gold
// has no before_expire) stops at the next of these.
namespace point {
inline constexpr std::string_view ready = "ready";        // connected, nothing sent yet
inline constexpr std::string_view in_cs = "in_cs";        // it has the lock
inline constexpr std::string_view nested = "nested";      // it has the lock a second time
inline constexpr std::string_view done = "done";          // it released the lock
inline constexpr std::string_view too_late = "too_late";  // on this machine a grant came after its lease
inline constexpr std::string_view failed = "failed";  // the server refused something, and its part is over
inline constexpr std::string_view before_retry = "before_retry";  // it was refused, and will ask again
inline constexpr std::string_view ended = "ended";                // the process has ended

[[nodiscard]] constexpr bool is_common(std::string_view p) { return p == in_cs || p == nested || p == done; }
}  // namespace point

// What a process reports.
struct report {
    enum class kind {
        stop,
        command,  // about the lock
        write,    // to what the lock protects: a command as well
        says,
        believes,
        believes_no_more
    };

    kind what = kind::says;
    boot_clock::time_point at;
    std::string text;                               // the point, the command, the sentence
    std::string reply;                              // to a command
    std::optional<boot_clock::time_point> until{};  // believes_no_more: the deadline, if the scheme knows it
};

[[nodiscard]] std::string to_line(const part& p);
[[nodiscard]] part part_from(const std::string& line);
[[nodiscard]] std::string to_line(const report& r);
[[nodiscard]] report report_from(const std::string& line);

}  // namespace holdfast::lab
