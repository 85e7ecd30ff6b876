// The result of examining a store's servers: for operators, their tools, and programs that check at their
// start whether they can trust their locks. See examine() in admin.hpp.
#pragma once

#include <holdfast/export.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// A greater value is worse.
enum class severity : std::uint8_t {
    ok,       // checked, and nothing is wrong
    note,     // worth knowing; nothing has to be done
    unknown,  // could not be checked: never taken for ok
    warning,  // a promise fails when something else happens too: a crash, a failover, more load
    danger,   // a promise does not hold as things are, or locks cannot be acquired at all
};

// The promises of docs/safety.md.
enum class promise : std::uint8_t {
    none,
    fenced,  // S1: a resource that remembers the highest fence refuses older writes
    timed,   // S2: no two leases on one lock are valid at the same moment
    live,    // S3: waiters are served
};

struct finding {
    std::string id;  // stable, for programs: "eviction-policy"; docs/doctor.md lists them all
    severity how_bad = severity::ok;
    std::string subject;            // the server's address; for several servers, what they are together
    std::string found;              // what is there
    std::string meaning;            // what that means for locks
    std::string mending;            // what to do about it; empty if nothing has to be done
    promise falls = promise::none;  // the promise that rests on it
};

// A server that was examined. A field is empty if the server did not tell it.
struct examined_server {
    std::string address;
    std::string version;
    std::string role;    // "master", "slave", "sentinel"
    std::string run_id;  // changes with every start
    // How far its clock is ahead of this machine's, and the possible error of that.
    std::optional<std::chrono::microseconds> clock_offset;
    std::chrono::microseconds clock_error{0};
    std::optional<std::chrono::microseconds> round_trip;  // the shortest of a few
};

struct HOLDFAST_API examination {
    std::vector<examined_server> servers;
    std::vector<finding> findings;

    // A check that could not be made counts as a warning if a promise rests on it, and otherwise as a note.
    [[nodiscard]] severity worst() const noexcept;
};

// Combines several examinations, and adds findings that only a comparison of servers shows: one server given
// twice, clocks that disagree, versions that differ.
[[nodiscard]] HOLDFAST_API examination together(std::vector<examination> all);

// "ok", "note", "unknown", "warning", "danger".
[[nodiscard]] HOLDFAST_API std::string_view to_string(severity s) noexcept;
// "S1", "S2", "S3"; empty for none.
[[nodiscard]] HOLDFAST_API std::string_view to_string(promise p) noexcept;

}  // namespace holdfast
