// What a look at a store's servers has found: for operators, their tools, and a program that wants to know
// at its start whether the locks it is about to trust can be trusted. See examine() in admin.hpp.
#pragma once

#include <holdfast/export.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// The worse the greater.
enum class severity : std::uint8_t {
    ok,       // looked at, and nothing is wrong
    note,     // worth knowing; nothing has to be done
    unknown,  // could not be looked at, so nobody knows: never taken for ok
    warning,  // a promise falls when something else happens too: a crash, a failover, more load
    danger,   // a promise does not hold as things are, or locks cannot be taken at all
};

// What docs/safety.md promises.
enum class promise : std::uint8_t {
    none,
    fenced,  // S1: a resource that remembers the highest fence refuses older writes
    timed,   // S2: no two leases on one lock are valid at the same moment
    live,    // S3: who waits is served
};

struct finding {
    std::string id;  // stable, for programs: "eviction-policy"; docs/doctor.md has them all
    severity how_bad = severity::ok;
    std::string subject;            // the server's address; of several what they are together
    std::string found;              // what is there
    std::string meaning;            // for locks
    std::string mending;            // what to do about it; empty when nothing has to be done
    promise falls = promise::none;  // what rests on it
};

// A server that was looked at. What it would not tell is empty.
struct examined_server {
    std::string address;
    std::string version;
    std::string role;    // "master", "slave", "sentinel"
    std::string run_id;  // changes with every start
    // How far its clock is ahead of this machine's, and by how much that may be wrong.
    std::optional<std::chrono::microseconds> clock_offset;
    std::chrono::microseconds clock_error{0};
    std::optional<std::chrono::microseconds> round_trip;  // the shortest of a few
};

struct HOLDFAST_API examination {
    std::vector<examined_server> servers;
    std::vector<finding> findings;

    // What could not be looked at counts as a warning if a promise rests on it, and else as a note.
    [[nodiscard]] severity worst() const noexcept;
};

// Several examinations as one, and what only shows when servers are compared: the same one given twice,
// clocks that disagree, versions that differ.
[[nodiscard]] HOLDFAST_API examination together(std::vector<examination> all);

// "ok", "note", "unknown", "warning", "danger".
[[nodiscard]] HOLDFAST_API std::string_view to_string(severity s) noexcept;
// "S1", "S2", "S3"; empty for none.
[[nodiscard]] HOLDFAST_API std::string_view to_string(promise p) noexcept;

}  // namespace holdfast
