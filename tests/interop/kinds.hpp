// The kinds of lock that are shared with Redisson, chosen at run time: our and their names, and where the
// server shows the waiters.
#pragma once

#include "interop/peers.hpp"
#include "server/scene.hpp"
#include "support/stalls.hpp"

#include <functional>
#include <memory>
#include <ostream>
#include <string>

namespace holdfast::test {

using any_lock = std::shared_ptr<exclusive_lock>;

struct shared_kind {
    const char* name;  // as in the docs
    const char* java;  // as in the requests
    any_lock (*make)(client&, const std::string& name);
    std::int64_t (*waiters)(redis_server&, const std::string& name);
    // The owner that the server knows; empty if the lock is free.
    std::string (*holder)(redis_server&, const std::string& name);
    std::string (*field)(const std::string& owner);

    // `n` clients wait, of all languages together.
    [[nodiscard]] bool waits(const std::string& lock, std::int64_t n = 1) const {
        return eventually(patience, [&] { return waiters(interop_server(), lock) == n; });
    }
    // How often its holder holds it, as the server sees it.
    [[nodiscard]] std::string holds(const std::string& lock) const {
        return interop_server().command({"HGET", lock, field(holder(interop_server(), lock))}).text;
    }

    friend std::ostream& operator<<(std::ostream& out, const shared_kind& k) { return out << k.name; }
};

template <class Lock>
any_lock make_lock(client& c, const std::string& name) {
    return std::make_shared<Lock>(c, name);
}

inline const shared_kind recursive_shared{"recursive_mutex",   "recursive",        make_lock<recursive_mutex>,
                                          &recursive::waiters, &recursive::holder, &recursive::field};
inline const shared_kind fair_shared{"fair_mutex",   "fair",        make_lock<fair_mutex>,
                                     &fair::waiters, &fair::holder, &fair::field};
inline const shared_kind fenced_shared{"fenced_mutex",      "fenced",           make_lock<fenced_mutex>,
                                       &recursive::waiters, &recursive::holder, &recursive::field};
inline const shared_kind writing_shared{"shared_mutex",    "write",          make_lock<shared_mutex>,
                                        &writing::waiters, &writing::holder, &writing::field};

inline const shared_kind plain_shared{"mutex",         "mutex",        make_lock<mutex>,
                                      &plain::waiters, &plain::holder, &plain::field};
inline const shared_kind native_fenced_shared{"fenced_native_mutex",
                                              "mutex",
                                              [](client& c, const std::string& name) -> any_lock {
                                                  return std::make_shared<mutex>(
                                                      c, name, mutex_options{.fenced = true});
                                              },
                                              &plain::waiters,
                                              &plain::holder,
                                              &plain::field};

// Waits for this many renewals: each makes the TTL longer than it was.
[[nodiscard]] inline bool renewed(const std::string& key, int times) {
    auto last = pttl(interop_server(), key);
    return eventually(patience, [&] {
        const auto now = pttl(interop_server(), key);
        if (now > last) --times;
        last = now;
        return times <= 0;
    });
}

// A waiter that a message wakes; one that polls, or waits for the end of a lease, takes longer.
inline constexpr limit_of_a_busy_machine at_once{150ms};

// The time from `open` until `entered` returns; the shortest of a few, since a busy machine only makes it
// longer.
template <class Prepare, class Open, class Entered>
milliseconds quickest(Prepare&& prepare, Open&& open, Entered&& entered) {
    auto best = milliseconds::max();
    for (int i = 0; i < 3; ++i) {
        auto waiter = prepare();
        const stopwatch since;
        open();
        entered(waiter);
        best = std::min(best, since.took());
    }
    return best;
}

// For our client: only a message or the end of a lease wakes it soon.
inline config without_polls(milliseconds lease = 30s) {
    config c = settings(interop_server().url(), lease);
    c.poll_gap = 30s;
    return c;
}

}  // namespace holdfast::test
