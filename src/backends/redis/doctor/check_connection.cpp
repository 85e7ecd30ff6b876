// How we reach the server: its clock, the connection, who can eavesdrop, and who receives our messages.
#include "backends/redis/doctor/checks.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace holdfast::redis_backend::doctor {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// Rounded to a tenth of a millisecond; less does not matter.
std::string in_ms(microseconds d) {
    const auto tenths = (std::abs(d.count()) + 50) / 100;
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " ms";
}

std::string rough_of(microseconds d) {
    if (std::chrono::abs(d) < std::chrono::seconds{10}) return in_ms(d);
    return base::to_text(milliseconds{(std::abs(d.count()) + 500'000) / 1'000'000 * 1'000});
}

// A unix socket, or this host: the connection crosses no network.
bool stays_here(std::string_view address) {
    return address.starts_with("unix:") || address.starts_with("127.") || address.starts_with("localhost:") ||
           address.starts_with("[::1]:") || address.starts_with("::1");
}

void check_certificate(std::string_view id, const std::optional<io::tls_state::time_point>& until,
                       std::int64_t now_us, report& r) {
    if (!until) return r.unknown(id, "its end cannot be read");
    const auto end = std::chrono::duration_cast<microseconds>(until->time_since_epoch()).count();
    const auto days = (end - now_us) / 86'400'000'000;
    const auto found = end < now_us ? std::string{"it has ended"}
                                    : "it ends in " + std::to_string(days) + (days == 1 ? " day" : " days");
    if (days < 7) return r.danger(id, found);
    if (days < 30) return r.warning(id, found);
    r.ok(id, found);
}

void check_tls(const snapshot& s, report& r) {
    const auto& tls = s.connection.tls;
    if (!tls) {
        if (!stays_here(s.connection.address))
            r.warning("plaintext", "the connection to " + s.connection.address + " is not encrypted");
        else
            r.ok("plaintext", "the connection does not leave this machine");
        return;
    }
    const bool old = tls->version != "TLSv1.2" && tls->version != "TLSv1.3";
    r.add(old ? severity::warning : severity::ok, "tls-version", tls->version);
    check_certificate("tls-server-certificate", tls->server_until, s.now, r);
    if (tls->own_until) check_certificate("tls-client-certificate", tls->own_until, s.now, r);
}

}  // namespace

void check_connection(const snapshot& s, report& r) {
    check_tls(s, r);
    const bool unix_socket = s.connection.address.starts_with("unix:");
    if (!s.connection.authenticated && !s.connection.tls && !unix_socket)
        r.note("no-password", "it lets us in without a password");
}

void check_clock(const snapshot& s, report& r) {
    const auto best = s.best_clock();
    if (!best) {
        const auto why =
            s.own_clock_set ? "this machine's clock was set meanwhile" : "TIME: " + s.time.why_not();
        r.unknown("clock-offset", why);
        return r.unknown("round-trip", why);
    }
    const auto offset = best->offset();
    const auto found = "the server's clock is " + rough_of(offset) +
                       (offset.count() < 0 ? " behind" : " ahead of") + " this machine's, give or take " +
                       in_ms(best->error());
    const microseconds allowed = s.wanted.drift;
    if (std::chrono::abs(offset) - best->error() > allowed)
        r.warning("clock-offset", found + "; allowed for are " + in_ms(allowed));
    else if (best->error() > allowed)
        r.unknown("clock-offset", "the round trip is too long to measure it: " + found);
    else
        r.ok("clock-offset", found);

    const auto trip = best->round_trip();
    const auto took = "a round trip takes " + in_ms(trip);
    if (trip > s.wanted.lease / 10)
        r.warning("round-trip", took + ", and a lease is " + base::to_text(s.wanted.lease));
    else if (trip > s.wanted.lease / 100)
        r.note("round-trip", took + ", and a lease is " + base::to_text(s.wanted.lease));
    else
        r.ok("round-trip", took);
}

void check_messages(const snapshot& s, report& r) {
    if (const auto receivers = s.receivers.integer()) {
        if (*receivers > 0)
            return r.warning("pattern-subscribers",
                             std::to_string(*receivers) +
                                 (*receivers == 1 ? " client listens" : " clients listen") +
                                 " to a pattern that covers our channels");
        return r.ok("pattern-subscribers", "no client listens to all channels");
    }
    // The user may not publish, but perhaps may ask for the number of patterns.
    if (s.patterns.integer() == 0) return r.ok("pattern-subscribers", "no client listens to a pattern");
    r.unknown("pattern-subscribers", "PUBLISH: " + s.receivers.why_not());
}

}  // namespace holdfast::redis_backend::doctor
