#include "lab/trial.hpp"

#include "cli/process/interrupted.hpp"

#include <fmt/format.h>

#include <chrono>
#include <exception>

namespace holdfast::lab {

namespace {

using namespace std::chrono_literals;

// Long enough for a process to do its work within it, and short enough for a person to wait for its end.
constexpr auto first_ttl = 300ms;
constexpr auto longest_ttl = 20s;

}  // namespace

bool outcome::as_predicted() const {
    if (!broken.empty()) return as == role::any;
    switch (as) {
        case role::any: return true;
        case role::flawed: return flaw_seen;
        case role::cure: return !flaw_seen;
        case role::ours:
        case role::joint: return !flaw_seen && (may_overlap || overlaps(seen).empty());
    }
    return false;
}

outcome play(const schedule& what, const std::string& scheme, role as, const surroundings& around) {
    outcome result{scheme, as, false, {}, what.leases_may_overlap};
    for (std::chrono::milliseconds ttl = first_ttl; ttl < longest_ttl; ttl *= 2) {
        try {
            director d{around, scheme, ttl};
            result.flaw_seen = what.play(d);
            result.seen = d.finish();
            result.broken.clear();
            // Its renewals may have come too late, and do not with a longer TTL.
            const bool unexpected = result.flaw_seen && as != role::flawed && as != role::any;
            if (!unexpected) return result;
        } catch (const too_slow& why) {  // the next TTL is longer
            result.broken = fmt::format("too slow with every TTL: {}", why.what());
        } catch (const cli::interrupted&) {
            throw;
        } catch (const cli::no_server&) {
            throw;
        } catch (const std::exception& why) {
            result.broken = why.what();
            return result;
        }
    }
    return result;
}

std::vector<casting> cast_of(const schedule& what) {
    std::vector<casting> all{{std::string{what.flawed}, role::flawed}};
    if (!what.cure.empty()) all.push_back({std::string{what.cure}, role::cure});
    if (!what.ours.empty() && what.ours != what.cure) all.push_back({std::string{what.ours}, role::ours});
    if (!what.joint.empty()) all.push_back({std::string{what.joint}, role::joint});
    return all;
}

}  // namespace holdfast::lab
