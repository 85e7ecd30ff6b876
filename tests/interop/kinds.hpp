// The kinds of lock that are shared with Redisson, chosen at run time: what ours and theirs are called, and
// where the server shows who waits.
#pragma once

#include "interop/peer.hpp"
#include "server/scene.hpp"

#include <functional>
#include <memory>
#include <ostream>
#include <string>

namespace holdfast::test {

using any_lock = std::shared_ptr<detail::exclusive>;

struct shared_kind {
    const char* name;  // as in the docs
    const char* java;  // as in the requests
    any_lock (*make)(client&, const std::string& name);
    std::int64_t (*waiters)(redis_server&, const std::string& name);
    std::string (*field)(const std::string& owner);

    // This many wait, of all languages together.
    [[nodiscard]] bool waits(const std::string& lock, std::int64_t n = 1) const {
        return eventually(patience, [&] { return waiters(interop_server(), lock) == n; });
    }
    // How often the owner holds it, as the server knows.
    [[nodiscard]] std::string holds(const std::string& lock, const std::string& owner) const {
        return interop_server().command({"HGET", lock, field(owner)}).text;
    }

    friend std::ostream& operator<<(std::ostream& out, const shared_kind& k) { return out << k.name; }
};

template <class Lock>
any_lock make_lock(client& c, const std::string& name) {
    return std::make_shared<Lock>(c, name);
}

inline const shared_kind recursive_shared{"recursive_mutex", "recursive", make_lock<recursive_mutex>,
                                          &recursive::waiters, &recursive::field};
inline const shared_kind fair_shared{"fair_mutex", "fair", make_lock<fair_mutex>, &fair::waiters,
                                     &fair::field};
inline const shared_kind fenced_shared{"fenced_mutex", "fenced", make_lock<fenced_mutex>, &recursive::waiters,
                                       &recursive::field};
inline const shared_kind writing_shared{"shared_mutex", "write", make_lock<shared_mutex>, &writing::waiters,
                                        &writing::field};

// Of ours: nothing but a message or the end of a lease is quick.
inline config without_polls(milliseconds lease = 30s) {
    config c = settings(interop_server().url(), lease);
    c.poll_gap = 30s;
    return c;
}

}  // namespace holdfast::test
