// What every lock on every store promises, told through the public face only. Two clients, A and B, stand for
// two processes.
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
    // These have a face of their own; lock_of() makes none.
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
[[nodiscard]] std::vector<subject> subjects_with_all_kinds();  // of a store that has them
// Those of one store, which hold for all locks there are.
[[nodiscard]] std::vector<subject> subjects_of(std::initializer_list<lock_kind> kinds);
// Of stores that keep a line of waiters.
[[nodiscard]] std::vector<subject> subjects_in_line(std::initializer_list<lock_kind> kinds);
// And of several servers together, which know the mutex, and no line of waiters.
[[nodiscard]] std::vector<subject> subjects_anywhere(std::initializer_list<lock_kind> kinds);
// Of stores whose grants have room for the fences of several threads.
[[nodiscard]] std::vector<subject> subjects_with_turns(std::initializer_list<lock_kind> kinds);
// A cluster is Redis with its keys in several places: one kind of each sort shows what that changes.
[[nodiscard]] std::vector<subject> in_a_cluster(std::initializer_list<lock_kind> kinds);

struct lock_options {
    std::optional<milliseconds> ttl{};
    std::optional<bool> renew{};
};
using any_lock = std::shared_ptr<detail::exclusive>;

// What a client tells, kept so that a test can wait for it.
class diary {
  public:
    explicit diary(client& of);

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

    // Redis, with all kinds, on one server or several.
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
    // Keys of Redisson's layouts lie in several slots if a name has a lone brace, and are refused in a
    // cluster.
    [[nodiscard]] bool takes_any_name() const { return !on_cluster() || is_mutex(); }
    [[nodiscard]] bool keeps_line() const {
        return !on_redlock() && !by_session() && (is_mutex() || is({lock_kind::fair_mutex}));
    }
    [[nodiscard]] bool has_fence() const { return is({lock_kind::mutex_fenced, lock_kind::fenced_mutex}); }

    // --- who takes part ---------------------------------------------------------------------------
    [[nodiscard]] config settings() const;
    // Where all names are others'.
    [[nodiscard]] config settings_elsewhere() const;
    client& a() { return *a_; }
    client& b() { return *b_; }
    void a_leaves() { a_.reset(); }
    [[nodiscard]] std::unique_ptr<client> another_client() const {
        return std::make_unique<client>(settings());
    }
    [[nodiscard]] static test::redis_server& server();
    [[nodiscard]] static std::span<test::redis_server> members();
    // Of all servers, where there are any.
    [[nodiscard]] std::vector<std::string> keys() const;

    [[nodiscard]] any_lock lock_of(client& on, const lock_name& name = stock,
                                   lock_options options = {}) const;

    // What inspect calls it while it is held and nobody waits. A fair one looks like a recursive one then.
    [[nodiscard]] std::string layout_shown() const;
    // Another hold of the same lease.
    [[nodiscard]] lease again(const any_lock& lock, const lease& outer) const;

    // Held for `ttl` and not renewed. Comes again where a busy machine let the whole ttl pass before it was
    // granted.
    [[nodiscard]] static lease briefly(const any_lock& lock, milliseconds ttl);

    // --- what is to be seen -----------------------------------------------------------------------
    // `waiters` clients stand in line, or at least have heard "no" and listen.
    [[nodiscard]] bool somebody_waits(client& waiting);
    [[nodiscard]] bool queue_has(std::size_t waiters);
    // Neither a holder nor a waiter, and no key but a fence counter.
    [[nodiscard]] bool nothing_is_left(const lock_name& name = stock);

  private:
    [[nodiscard]] static test::cluster_scene& cluster();
    // Those on which the keys are.
    [[nodiscard]] std::vector<test::redis_server*> servers() const;

    std::unique_ptr<client> a_;
    std::unique_ptr<client> b_;
};

class mutex_contract : public lock_contract {};      // the mutex, with and without fences
class line_contract : public lock_contract {};       // kinds whose waiters stand in line in the store
class turns_contract : public lock_contract {};      // kinds that pass from thread to thread of a process
class recursive_contract : public lock_contract {};  // kinds that a thread may lock again
class fenced_contract : public lock_contract {};     // kinds with fences

}  // namespace holdfast::contract
