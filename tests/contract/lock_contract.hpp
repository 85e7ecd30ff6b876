// What every lock on every store promises, tested through the public headers only. Two clients, A and B,
// stand for two processes.
#pragma once

#include "contract/stores.hpp"
#include "support/background.hpp"
#include "support/errors.hpp"
#include "support/event_recorder.hpp"
#include "support/eventually.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::contract {

using namespace admin;

using namespace std::chrono_literals;
using namespace std::string_literals;
using std::chrono::milliseconds;
using test::code_of;
using test::event_recorder;
using test::eventually;
using test::in_background;
using test::patience;

using any_lock = std::shared_ptr<exclusive_lock>;

class lock_contract : public ::testing::TestWithParam<subject> {
  protected:
    void SetUp() override;
    void TearDown() override;

    static constexpr const char* stock = "stock:42";

    // --- what the store and the kind can do -------------------------------------------------------
    [[nodiscard]] static const abilities& can() { return GetParam().can(); }
    [[nodiscard]] static bool is_mutex() { return GetParam().rules().belongs_to == engine::family::string; }
    [[nodiscard]] static bool has_fence() { return GetParam().rules().fenced; }
    [[nodiscard]] static bool keeps_queue() { return needs::a_queue(GetParam()); }
    // Operators see how long a lock is still held. The end of a session is known to no other client.
    [[nodiscard]] static bool shows_ttl() { return can().inspection && !can().ends_by_session(); }
    // Where keys lie in several places, a name with a lone brace may put those of one lock into different
    // places; a store may refuse such a name.
    [[nodiscard]] bool takes_any_name();

    // --- clients ------------------------------------------------------------------------------------
    [[nodiscard]] static config settings();
    client& a() { return *a_; }
    client& b() { return *b_; }
    void a_leaves() { a_.reset(); }
    [[nodiscard]] static std::unique_ptr<client> another_client() {
        return std::make_unique<client>(settings());
    }

    [[nodiscard]] any_lock lock_of(client& on, const lock_name& name = stock,
                                   lock_options options = {}) const;

    // Another hold of the same lease.
    [[nodiscard]] lease nested(const any_lock& lock, const lease& outer) const;

    // Acquires for `ttl` without renewal. Tries again if the whole ttl passed before the grant.
    [[nodiscard]] static lease briefly(const any_lock& lock, milliseconds ttl);

    // --- what can be observed ---------------------------------------------------------------------
    // How often a new waiter is refused before it only waits for messages: at a look, if it begins with one,
    // and again once it listens.
    [[nodiscard]] static std::uint64_t refusals_of_a_waiter() { return can().has.queues_at_once ? 1 : 2; }
    // The client has a waiter that listens.
    [[nodiscard]] bool has_waiter(client& waiting);
    [[nodiscard]] bool queue_has(std::size_t waiters);
    // What inspect() may show as the kind of a held lock without waiters. A store need not tell a fair mutex
    // without waiters from a recursive mutex.
    [[nodiscard]] static bool names_this_kind(const std::string& layout);
    // There is no holder, no waiter, and nothing on the store's servers that should be gone.
    [[nodiscard]] bool nothing_is_left(const lock_name& name = stock);

  private:
    std::unique_ptr<client> a_;
    std::unique_ptr<client> b_;
};

class mutex_contract : public lock_contract {};        // the mutex, with and without fences
class queue_contract : public lock_contract {};        // kinds whose waiters queue in the store
class local_turns_contract : public lock_contract {};  // kinds whose grant can pass between threads
class recursive_contract : public lock_contract {};    // kinds that a thread may lock again
class fenced_contract : public lock_contract {};       // kinds with fences

}  // namespace holdfast::contract
