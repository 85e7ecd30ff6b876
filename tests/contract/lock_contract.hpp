// What every lock on every store promises, tested through the public headers only. Two clients, A and B,
// stand for two processes.
#pragma once

#include "support/background.hpp"
#include "support/cluster_scene.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::contract {

using namespace admin;

using namespace std::chrono_literals;
using namespace std::string_literals;
using std::chrono::milliseconds;
using test::eventually;
using test::in_background;
using test::patience;

enum class store_kind { redis, cluster, redlock, local, session };
enum class lock_kind {
    mutex,
    mutex_fenced,
    recursive_mutex,
    fenced_mutex,
    fair_mutex,
    shared_mutex,
    // These have interfaces of their own; lock_of() makes none of them.
    counting_semaphore,
    permit_semaphore,
    latch,
};

struct subject {
    store_kind store;
    lock_kind lock;
};
[[nodiscard]] std::string name_of(const subject& s);
// For INSTANTIATE_TEST_SUITE_P.
[[nodiscard]] inline std::string suffix(const ::testing::TestParamInfo<subject>& info) {
    return name_of(info.param);
}
[[nodiscard]] std::vector<subject> all_subjects();
[[nodiscard]] std::vector<subject> subjects_with_all_kinds();  // on the stores that have them
// On the stores that have all kinds.
[[nodiscard]] std::vector<subject> subjects_of(std::initializer_list<lock_kind> kinds);
// On the stores that keep a queue.
[[nodiscard]] std::vector<subject> subjects_with_queue(std::initializer_list<lock_kind> kinds);
// Also on a redlock, which has the mutex without a queue.
[[nodiscard]] std::vector<subject> subjects_anywhere(std::initializer_list<lock_kind> kinds);
// On the stores that grant fences for several threads at once.
[[nodiscard]] std::vector<subject> subjects_with_turns(std::initializer_list<lock_kind> kinds);
// A cluster is Redis with its keys on several servers. One kind of each sort shows what that changes.
[[nodiscard]] std::vector<subject> in_a_cluster(std::initializer_list<lock_kind> kinds);

using any_lock = std::shared_ptr<exclusive_lock>;

// Records the events of a client, so that a test can wait for one.
class event_log {
  public:
    explicit event_log(client& of);

    // The first event of this kind that no earlier call has returned.
    [[nodiscard]] std::optional<event> next(event_kind kind, milliseconds limit = patience);
    [[nodiscard]] std::size_t count(event_kind kind);

  private:
    struct pages {
        std::mutex mutex;
        std::condition_variable changed;
        std::vector<event> events;
    };
    std::shared_ptr<pages> pages_ = std::make_shared<pages>();
    std::vector<std::size_t> read_;
    event_subscription subscription_;
};

class lock_contract : public ::testing::TestWithParam<subject> {
  protected:
    void SetUp() override;
    void TearDown() override;

    static constexpr const char* stock = "stock:42";

    // Redis on one server or several: it has all kinds.
    [[nodiscard]] bool on_redis() const {
        return GetParam().store == store_kind::redis || GetParam().store == store_kind::cluster;
    }
    [[nodiscard]] bool on_cluster() const { return GetParam().store == store_kind::cluster; }
    [[nodiscard]] bool on_redlock() const { return GetParam().store == store_kind::redlock; }
    // Its leases end with the client's session, and waiters receive no messages: see session_store.hpp.
    [[nodiscard]] bool by_session() const { return GetParam().store == store_kind::session; }
    [[nodiscard]] bool is(std::initializer_list<lock_kind> kinds) const {
        return std::find(kinds.begin(), kinds.end(), GetParam().lock) != kinds.end();
    }
    [[nodiscard]] bool is_mutex() const { return is({lock_kind::mutex, lock_kind::mutex_fenced}); }
    // A name with a lone brace puts the keys of Redisson's layouts into several slots; a cluster refuses it.
    [[nodiscard]] bool takes_any_name() const { return !on_cluster() || is_mutex(); }
    [[nodiscard]] bool keeps_line() const {
        return !on_redlock() && !by_session() && (is_mutex() || is({lock_kind::fair_mutex}));
    }
    [[nodiscard]] bool has_fence() const { return is({lock_kind::mutex_fenced, lock_kind::fenced_mutex}); }

    // --- clients and servers ----------------------------------------------------------------------
    [[nodiscard]] config settings() const;
    // For a store on which every name is another lock.
    [[nodiscard]] config settings_elsewhere() const;
    client& a() { return *a_; }
    client& b() { return *b_; }
    void a_leaves() { a_.reset(); }
    [[nodiscard]] std::unique_ptr<client> another_client() const {
        return std::make_unique<client>(settings());
    }
    [[nodiscard]] static test::redis_server& server();
    [[nodiscard]] static std::span<test::redis_server> members();
    // On all servers, if the store has any.
    [[nodiscard]] std::vector<std::string> keys() const;

    [[nodiscard]] any_lock lock_of(client& on, const lock_name& name = stock,
                                   lock_options options = {}) const;

    // The layout that inspect() shows for a held lock without waiters. A fair mutex then looks recursive.
    [[nodiscard]] std::string layout_shown() const;
    // Another hold of the same lease.
    [[nodiscard]] lease nested(const any_lock& lock, const lease& outer) const;

    // Acquires for `ttl` without renewal. Tries again if the whole ttl passed before the grant.
    [[nodiscard]] static lease briefly(const any_lock& lock, milliseconds ttl);

    // --- what can be observed ---------------------------------------------------------------------
    // The client was refused, listens, and was refused once more.
    [[nodiscard]] bool has_waiter(client& waiting);
    [[nodiscard]] bool queue_has(std::size_t waiters);
    // There is no holder, no waiter, and no key but a fence counter.
    [[nodiscard]] bool nothing_is_left(const lock_name& name = stock);

  private:
    [[nodiscard]] static test::cluster_scene& cluster();
    // The servers that have the keys.
    [[nodiscard]] std::vector<test::redis_server*> servers() const;

    std::unique_ptr<client> a_;
    std::unique_ptr<client> b_;
};

class mutex_contract : public lock_contract {};        // the mutex, with and without fences
class queue_contract : public lock_contract {};        // kinds whose waiters queue in the store
class local_turns_contract : public lock_contract {};  // kinds whose grant can pass between threads
class recursive_contract : public lock_contract {};    // kinds that a thread may lock again
class fenced_contract : public lock_contract {};       // kinds with fences

}  // namespace holdfast::contract
