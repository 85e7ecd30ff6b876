// Shared by the tests against real servers: the kinds of lock, clients, and ways to wait for events.
#pragma once

#include "backends/redis/scripts/scripts.hpp"
#include "server/task_mutex.hpp"
#include "support/background.hpp"
#include "support/child_process.hpp"
#include "support/errors.hpp"
#include "support/event_recorder.hpp"
#include "support/eventually.hpp"
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"
#include "support/sanitizers.hpp"
#include "support/stalls.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

using namespace admin;

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// A delay below this is the fault of a busy machine, not of the lock; all delays under test are longer.
inline constexpr limit_of_a_busy_machine slack{900ms * slower};

// Longer than a machine that runs a sanitizer stalls.
inline const milliseconds answer_timeout = config{}.answer_timeout * slower;

// A first attempt on a server that never answers has failed by then.
inline milliseconds given_up() { return answer_timeout + 1s + slack; }

inline config settings(const std::string& url, milliseconds lease = 30s) {
    config c;
    c.url = url;
    c.lease = lease;
    c.answer_timeout = answer_timeout;
    return c;
}

class stopwatch {
  public:
    [[nodiscard]] milliseconds took() const {
        return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begun_);
    }

  private:
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

// --- kinds ----------------------------------------------------------------------------------------

inline std::string queue_of(const std::string& name) { return "holdfast:q1:{" + name + "}"; }
inline std::string channel_of(const std::string& name) { return "redisson_lock__channel:{" + name + "}"; }

inline command_predicate runs(const redis_scripts::script& s) {
    return [sha = std::string{s.sha1}, text = std::string{s.text}](const std::vector<std::string>& words) {
        return words.size() > 1 &&
               ((words[0] == "EVALSHA" && words[1] == sha) || (words[0] == "EVAL" && words[1] == text));
    };
}

// How many waiters are queued, as the server sees it.
inline std::int64_t queued(redis_server& server, const std::string& name) {
    return server.command({"ZCARD", queue_of(name)}).number;
}

// Their tickets, in their order.
inline std::vector<std::string> waiters_in(redis_server& server, const std::string& name) {
    std::vector<std::string> all;
    for (const auto& one : server.command({"ZRANGE", queue_of(name), "0", "-1"}).items)
        all.push_back(one.text);
    return all;
}

struct native_kind {
    static constexpr bool reentrant = false;
    // A hold of a client that no longer exists.
    static std::vector<std::string> foreign_hold(const std::string& name) {
        return {"SET", name, "AAAAAAAAAAAAAAAAAAAAAA|1"};
    }
    static std::string field(const std::string&) { return {}; }
    static std::string holder(redis_server& server, const std::string& name) {
        return server.command({"GET", name}).text;
    }
    static std::int64_t waiters(redis_server& server, const std::string& name) {
        return queued(server, name);
    }
    static command_predicate bid() { return runs(redis_scripts::mutex_enqueue); }
    static command_predicate leave() { return runs(redis_scripts::mutex_release_and_hand_off); }
    static command_predicate renewal() { return runs(redis_scripts::mutex_renew); }
};

struct plain : native_kind {
    static mutex make(client& c, const std::string& name) { return {c, name}; }
    // Servers before Redis 7 are asked by a script.
    static command_predicate look() {
        return [set = named("SET"), take = runs(redis_scripts::mutex_take)](const auto& words) {
            return set(words) || take(words);
        };
    }
};

struct fenced : native_kind {
    static mutex make(client& c, const std::string& name) { return {c, name, {.fenced = true}}; }
    static command_predicate look() { return runs(redis_scripts::mutex_take_fenced); }
};

struct recursive {
    static constexpr bool reentrant = true;
    static std::vector<std::string> foreign_hold(const std::string& name) {
        return {"HSET", name, "0d2b3c47-0c5e-4a45-9f9e-000000000000:1", "1"};
    }
    static recursive_mutex make(client& c, const std::string& name) { return {c, name}; }
    static std::string field(const std::string& owner) { return owner; }
    static std::string holder(redis_server& server, const std::string& name) {
        const auto fields = server.command({"HKEYS", name}).items;
        return fields.empty() ? std::string{} : fields[0].text;
    }
    static std::int64_t waiters(redis_server& server, const std::string& name) {
        return server.command({"PUBSUB", "NUMSUB", channel_of(name)}).items.at(1).number;
    }
    static command_predicate look() { return runs(redis_scripts::recursive_acquire); }
    static command_predicate bid() { return look(); }
    static command_predicate leave() { return runs(redis_scripts::recursive_release); }
    static command_predicate renewal() { return runs(redis_scripts::recursive_renew); }
};

struct fair : recursive {
    static fair_mutex make(client& c, const std::string& name) { return {c, name}; }
    static std::int64_t waiters(redis_server& server, const std::string& name) {
        return server.command({"LLEN", "redisson_lock_queue:{" + name + "}"}).number;
    }
    static command_predicate look() { return runs(redis_scripts::fair_acquire); }
    static command_predicate bid() { return look(); }
    static command_predicate leave() { return runs(redis_scripts::fair_release); }
};

// The writer of a shared mutex.
struct writing : recursive {
    static shared_mutex make(client& c, const std::string& name) { return {c, name}; }
    static std::vector<std::string> foreign_hold(const std::string& name) {
        return {"HSET", name, "mode", "write", "0d2b3c47-0c5e-4a45-9f9e-000000000000:1:write", "1"};
    }
    static std::string field(const std::string& owner) { return owner + ":write"; }
    static std::string holder(redis_server& server, const std::string& name) {
        for (const auto& field : server.command({"HKEYS", name}).items) {
            if (field.text != "mode") return field.text.substr(0, field.text.rfind(":write"));
        }
        return {};
    }
    static std::int64_t waiters(redis_server& server, const std::string& name) {
        return server.command({"PUBSUB", "NUMSUB", "redisson_rwlock:{" + name + "}"}).items.at(1).number;
    }
    static command_predicate look() { return runs(redis_scripts::shared_acquire); }
    static command_predicate bid() { return look(); }
    static command_predicate leave() { return runs(redis_scripts::shared_release); }
};

struct by_task : plain {
    static task_mutex make(client& c, const std::string& name) { return {c, name}; }
};

// For faults it also matters whether a thread or a task acquires. What `fair` and `writing` add is in
// scripts, which sanitizers do not see; our own code for them runs under sanitizers in the contract suite.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
using all_kinds = ::testing::Types<plain, fenced, recursive>;
using all_ways = ::testing::Types<plain, fenced, recursive, by_task>;
#else
using all_kinds = ::testing::Types<plain, fenced, recursive, fair, writing>;
using all_ways = ::testing::Types<plain, fenced, recursive, fair, writing, by_task>;
#endif
using native_kinds = ::testing::Types<plain, fenced>;

struct kind_names {
    template <class Kind>
    static std::string GetName(int) {
        if (std::is_same_v<Kind, plain>) return "mutex";
        if (std::is_same_v<Kind, by_task>) return "mutex_by_task";
        if (std::is_same_v<Kind, fair>) return "fair_mutex";
        if (std::is_same_v<Kind, writing>) return "shared_mutex";
        return std::is_same_v<Kind, fenced> ? "fenced_mutex" : "recursive_mutex";
    }
};

// --- looking at the server ------------------------------------------------------------------------

inline bool exists(redis_server& server, const std::string& key) {
    return server.command({"EXISTS", key}).number == 1;
}
inline milliseconds pttl(redis_server& server, const std::string& key) {
    return milliseconds{server.command({"PTTL", key}).number};
}

// A waiter is known to wait when it has subscribed or is queued, and has asked once more since.
template <class Kind>
[[nodiscard]] bool waits(redis_server& server, const std::string& name, std::int64_t n = 1) {
    return eventually(patience, [&] { return Kind::waiters(server, name) == n; });
}

// --- waiting ----------------------------------------------------------------------------------------

template <class T>
[[nodiscard]] bool ready(const std::future<T>& f, milliseconds limit = 0ms) {
    return f.wait_for(limit) == std::future_status::ready;
}
// The lease that another thread gets; an empty one if it took too long.
template <class Lock>
std::future<lease> waiter_for(Lock& lock, acquire_options options = {}) {
    return in_background([&lock, options] { return lock.try_acquire_for(patience, options); });
}

// Waits until the client is connected and the server knows the scripts: a client with a short answer timeout
// may have to try several times on a busy machine.
template <class Lock>
[[nodiscard]] bool used_once(Lock& lock) {
    return eventually(patience, [&] {
        std::error_code ec;
        lease held = lock.try_acquire_for(patience, ec);
        return held && held.release() == release_outcome::released;
    });
}

// The error of a first attempt to lock that cannot work.
struct complaint {
    std::error_code code;
    std::string text;
    milliseconds took{0};
};
inline complaint first_complaint(const config& how) {
    const stopwatch watch;
    try {
        client c{how};
        mutex lock{c, "job"};
        (void)lock.try_lock();
    } catch (const error& e) {
        return {e.code(), e.what() + (" " + e.server_text()), watch.took()};
    }
    ADD_FAILURE() << "a first attempt works";
    return {};
}

}  // namespace holdfast::test
