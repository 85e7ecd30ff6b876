#include "lab/trial.hpp"

#include <fmt/format.h>

#include <chrono>
#include <stdexcept>

namespace holdfast::lab {

namespace {

using namespace std::chrono_literals;

// Long enough for a process to do what it has to within it, and short enough for a person to wait for its
// end.
constexpr auto first_ttl = 300ms;
constexpr auto longest_ttl = 20s;

}  // namespace

bool outcome::as_predicted() const {
    switch (as) {
        case role::flawed: return flaw_seen;
        case role::cure: return !flaw_seen;
        case role::ours: return !flaw_seen && (may_overlap || overlaps(seen).empty());
    }
    return false;
}

outcome play(const schedule& what, const std::string& scheme, role as, const surroundings& around) {
    for (std::chrono::milliseconds ttl = first_ttl; ttl < longest_ttl; ttl *= 2) {
        director d{around, scheme, ttl};
        try {
            const bool seen = what.play(d);
            return {scheme, as, seen, d.finish(), what.leases_may_overlap};
        } catch (const too_slow&) {  // the next TTL is longer
        }
    }
    throw std::runtime_error(
        fmt::format("this machine is too busy: {} on {} did not come to its end", what.name, scheme));
}

std::vector<casting> cast_of(const schedule& what) {
    std::vector<casting> all{{std::string{what.flawed}, role::flawed}};
    if (!what.cure.empty()) all.push_back({std::string{what.cure}, role::cure});
    if (!what.ours.empty() && what.ours != what.cure) all.push_back({std::string{what.ours}, role::ours});
    return all;
}

}  // namespace holdfast::lab
