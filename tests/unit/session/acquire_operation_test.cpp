// An acquire operation, fed by several threads, with a store that the test controls.
#include "session/client_lock.hpp"
#include "session/client_state.hpp"
#include "session/waiter.hpp"
#include "unit/session/scripted_store.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <functional>
#include <future>
#include <new>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::session {
namespace {

using namespace std::chrono_literals;
using namespace backend;

// Hands the lock off during the second attempt, and then lets the time of that grant pass before the client
// goes on, as if the process were stopped. Grants the next attempt.
class stalling_store final : public store {
  public:
    static constexpr milliseconds handed = 20ms;
    int asked = 0;

    const capabilities& has() const noexcept override {
        static constexpr capabilities ours{};
        return ours;
    }
    traffic statistics() const noexcept override { return {}; }
    owner_id new_owner(kind, std::uint32_t) override { return owner_id{"me|1"}; }
    void attempt(const attempt_request& asked_for, time_point, handler<attempt_answer> done) override {
        switch (++asked) {
            case 1: return done(busy{"other", {}, {}, {}});
            case 2: {
                const auto sent = boot_clock::now();
                done(busy{"other", {}, "ticket", handed});
                on_event_({watch_event::change::woken, {"ticket"}});
                while (boot_clock::now() < sent + 2 * handed) {
                }
                return;
            }
            default: return done(granted{asked_for.lease});
        }
    }
    std::unique_ptr<watch_handle> watch(const lock_key&, const owner_id&,
                                        handler<watch_event> on_event) override {
        on_event_ = std::move(on_event);
        on_event_({watch_event::change::watching, {}});
        return std::make_unique<watch_handle>();
    }
    void renew(std::span<const renew_request> all, time_point,
               handler<std::vector<renew_answer>> done) override {
        done(std::vector<renew_answer>(all.size(), renewed{all.front().lease}));
    }
    void release(const release_request&, time_point, handler<release_answer> done) override {
        done(released{});
    }
    void run_io(base::parker& me, time_point until) override { me.park_until(until); }
    void abandon() noexcept override {}

  private:
    handler<watch_event> on_event_;
};

TEST(acquire_operation, ignores_a_grant_that_was_over_before_it_looked) {
    stalling_store* at = nullptr;
    const auto client = client_state::open({}, [&](client_state&) {
        auto made = std::make_unique<stalling_store>();
        at = made.get();
        return made;
    });
    const auto lock = std::make_shared<client_lock>(client, lock_key{kind::native, lock_name{"stock"}});
    auto got = lock->acquire({.give_up_at = boot_clock::now() + 1min});
    auto* const held = std::get_if<std::shared_ptr<hold>>(&got);
    ASSERT_NE(held, nullptr);
    EXPECT_EQ(at->asked, 3) << "a grant of the past was returned";
    (*held)->release();
    client->close();
}

// --- attempts that may have been granted -------------------------------------------------------------

// Answers as the test says, and records which owners asked and which of them were released.
class scripted_store final : public store {
  public:
    using answer = handler<attempt_answer>;
    capabilities what{};
    std::function<void(const attempt_request&, answer)> on_attempt;
    std::function<void()> on_io;
    std::function<void()> on_release;  // on the client's own thread

    const capabilities& has() const noexcept override { return what; }
    traffic statistics() const noexcept override { return {}; }
    owner_id new_owner(kind, std::uint32_t) override { return owner_id{"me|" + std::to_string(++serial_)}; }
    void attempt(const attempt_request& r, time_point, answer done) override {
        asked.push_back(r.owner);
        on_attempt(r, std::move(done));
    }
    std::unique_ptr<watch_handle> watch(const lock_key&, const owner_id&, handler<watch_event>) override {
        return std::make_unique<watch_handle>();
    }
    void renew(std::span<const renew_request> all, time_point,
               handler<std::vector<renew_answer>> done) override {
        done(std::vector<renew_answer>(all.size(), renewed{all.front().lease}));
    }
    void release(const release_request& r, time_point, handler<release_answer> done) override {
        released_.insert(r.owner.str());
        done(released{});
        if (on_release) on_release();
    }
    void run_io(base::parker& me, time_point until) override {
        if (on_io) return on_io();
        me.park_until(until);
    }
    void abandon() noexcept override {}

    std::vector<owner_id> asked;  // for the thread that acquires
    // After reactor().run_and_wait().
    [[nodiscard]] bool has_released(const owner_id& of) const { return released_.contains(of.str()); }

  private:
    std::int64_t serial_ = 0;
    std::set<std::string> released_;
};

class acquire_attempt : public ::testing::Test {
  protected:
    void open(config settings = {}) {
        client = client_state::open(std::move(settings), [this](client_state&) {
            auto made = std::make_unique<scripted_store>();
            store = made.get();
            return made;
        });
        lock = client->lock_of({kind::native, lock_name{"stock"}});
    }
    void TearDown() override { client->close(); }
    // Returns whether the lock was granted. Immediate undos are done by then.
    [[nodiscard]] bool acquire(milliseconds ttl, std::stop_token stop = {}) {
        const auto got =
            lock->acquire({.give_up_at = boot_clock::now() + 1min, .ttl = ttl, .stop = std::move(stop)});
        client->reactor().run_and_wait([] {});
        return std::holds_alternative<std::shared_ptr<hold>>(got);
    }

    scripted_store* store = nullptr;
    std::shared_ptr<client_state> client;
    std::shared_ptr<client_lock> lock;
};

// A dead connection may have left it with the server, which may run it after the release.
TEST_F(acquire_attempt, is_undone_again_later_if_it_was_cancelled_and_its_answer_unknown) {
    open();
    scripted_store::answer open_one;
    std::promise<void> asked, twice;
    store->on_attempt = [&](const attempt_request&, auto done) {
        open_one = std::move(done);
        asked.set_value();
    };
    store->on_release = [&, times = 0]() mutable {
        if (++times == 2) twice.set_value();
    };
    std::stop_source stop;
    auto got = std::async(std::launch::async, [&] { return acquire(1min, stop.get_token()); });
    asked.get_future().wait();
    stop.request_stop();
    ASSERT_FALSE(got.get());
    EXPECT_FALSE(store->has_released(store->asked[0])) << "it waits for the answer";
    open_one(unknown{});
    EXPECT_EQ(twice.get_future().wait_for(20s), std::future_status::ready);
}

TEST_F(acquire_attempt, is_undone_if_there_is_no_memory_to_ask_again) {
    open({.answer_timeout = 50ms});
    scripted_store::answer never;
    store->on_attempt = [&](const attempt_request&, auto done) {
        if (store->asked.size() > 1) throw std::bad_alloc{};
        never = std::move(done);
    };
    EXPECT_THROW((void)acquire(1min), std::bad_alloc);
    client->reactor().run_and_wait([] {});
    EXPECT_TRUE(store->has_released(store->asked[0]));
}

// At a redlock, each attempt is a vote of its own.
class redlock_attempt : public acquire_attempt {
  protected:
    void open_redlock(config settings = {}) {
        open(std::move(settings));
        store->what = {.guarantee = strength::quorum, .votes = true};
    }
};

TEST_F(redlock_attempt, is_undone_before_the_next_if_its_lease_was_over_on_arrival) {
    open_redlock();
    store->on_attempt = [&](const attempt_request& r, const auto& done) {
        const auto sent = boot_clock::now();
        while (store->asked.size() == 1 && boot_clock::now() < sent + r.lease) {
        }
        done(granted{r.lease});
    };
    ASSERT_TRUE(acquire(50ms));
    ASSERT_GE(store->asked.size(), 2U);
    EXPECT_TRUE(store->has_released(store->asked.front()));
}

TEST_F(redlock_attempt, is_undone_without_an_answer_although_an_earlier_one_was_answered) {
    open_redlock({.answer_timeout = 50ms});
    scripted_store::answer late, never;
    store->on_attempt = [&](const attempt_request& r, auto done) {
        switch (store->asked.size()) {
            case 1: late = std::move(done); return;
            case 2: never = std::move(done); return late(busy{"other", {}, {}, {}});
            default: return done(granted{r.lease});
        }
    };
    ASSERT_TRUE(acquire(1min));
    ASSERT_EQ(store->asked.size(), 3U);
    EXPECT_TRUE(store->has_released(store->asked[0]));
    EXPECT_TRUE(store->has_released(store->asked[1]));
}

TEST_F(redlock_attempt, is_read_by_the_asking_thread_although_an_earlier_one_was_answered) {
    open_redlock({.answer_timeout = 50ms});
    scripted_store::answer late, next;
    store->on_attempt = [&](const attempt_request& r, auto done) {
        switch (store->asked.size()) {
            case 1: late = std::move(done); return;
            case 2: next = std::move(done); return late(busy{"other", {}, {}, {}});
            default: return done(granted{r.lease});
        }
    };
    store->on_io = [&] {
        if (next) std::exchange(next, nullptr)(granted{1min});
    };
    ASSERT_TRUE(acquire(1min));
    EXPECT_EQ(store->asked.size(), 2U);
}

// --- events after the end ---------------------------------------------------------------------------

TEST(waiter, keeps_no_event_after_its_owner_has_gone_on) {
    int poked = 0;
    waiter w({}, nullptr, boot_clock::now(), [&] { ++poked; });
    w.push(engine::watched{});
    w.push(engine::watched{});
    w.close();
    EXPECT_FALSE(w.has_event());
    poked = 0;
    w.push(engine::watched{});
    EXPECT_FALSE(w.has_event());
    EXPECT_EQ(poked, 0);
}

TEST(waiter, runs_the_callback_of_the_last_answer_although_nobody_reads_it) {
    waiter w({}, nullptr, boot_clock::now(), {});
    w.on_send();
    bool done = false;
    w.once_answered([&](auto) { done = true; });
    w.close();
    w.answered({1, granted{1s}});
    EXPECT_TRUE(done);
}

class watch_test : public with_scripted_store {};

TEST_F(watch_test, of_a_holder_uses_no_memory_for_messages_to_others) {
    for (const auto kind : {kind::semaphore, kind::recursive}) {
        store->will_answer(busy{"other", std::nullopt, {}, {}});
        const auto got =
            client->lock_of({kind, lock_name{"stock"}})->acquire({.give_up_at = time_point::max()});
        ASSERT_TRUE(std::holds_alternative<std::shared_ptr<hold>>(got));
        const auto before = ::mallinfo2().uordblks;
        for (int i = 0; i < 10'000; ++i) store->wake(std::string(1'000, 'x'));
        EXPECT_LT(::mallinfo2().uordblks, before + 1'000'000);
    }
}

TEST_F(watch_test, ends_with_an_acquire_that_gave_up) {
    store->will_answer(busy{"other", std::nullopt, {}, {}});
    store->will_answer(busy{"other", std::nullopt, {}, {}});
    std::promise<void> ended;
    const auto kept =
        lock_of(kind::recursive)->acquire_later({.give_up_at = boot_clock::now() + 20ms}, [&](const auto&) {
            ended.set_value();
        });
    ended.get_future().wait();
    client->reactor().run_and_wait([] {});
    EXPECT_EQ(store->watches(), 0);
}

}  // namespace
}  // namespace holdfast::session
