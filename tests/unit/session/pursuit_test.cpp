// An acquisition between the threads that tell it something, with a store that says when.
#include "session/cell.hpp"
#include "session/core.hpp"
#include "session/waiter.hpp"
#include "unit/session/told_store.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <future>
#include <string>
#include <utility>

namespace holdfast::session {
namespace {

using namespace std::chrono_literals;
using namespace backend;

// Hands the lock over in the midst of the second question, and then lets the time of that grant pass before
// the asker goes on, as where a process is stopped. Grants it when it is asked once more.
class halting final : public store {
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
                tell_({watch_event::change::woken, {"ticket"}});
                while (boot_clock::now() < sent + 2 * handed) {
                }
                return;
            }
            default: return done(granted{asked_for.lease});
        }
    }
    std::unique_ptr<watch_handle> watch(const lock_key&, const owner_id&,
                                        handler<watch_event> tell) override {
        tell_ = std::move(tell);
        tell_({watch_event::change::watching, {}});
        return std::make_unique<watch_handle>();
    }
    void renew(std::span<const renew_request> all, time_point,
               handler<std::vector<renew_answer>> done) override {
        done(std::vector<renew_answer>(all.size(), renew_answer::renewed));
    }
    void release(const release_request&, time_point, handler<release_answer> done) override {
        done(released{});
    }
    void run_io(base::parker& me, time_point until) override { me.park_until(until); }
    void abandon() noexcept override {}

  private:
    handler<watch_event> tell_;
};

TEST(a_pursuit, believes_no_grant_that_was_over_before_it_looked) {
    halting* at = nullptr;
    const auto client = core::open({}, [&](core&) {
        auto made = std::make_unique<halting>();
        at = made.get();
        return made;
    });
    const auto lock = std::make_shared<cell>(client, lock_key{kind::native, lock_name{"stock"}});
    auto got = lock->acquire({.give_up_at = boot_clock::now() + 1min});
    auto* const held = std::get_if<std::shared_ptr<hold>>(&got);
    ASSERT_NE(held, nullptr);
    EXPECT_EQ(at->asked, 3) << "a grant of the past was returned";
    (*held)->release();
    client->close();
}

// --- what comes when it is over ---------------------------------------------------------------------

TEST(a_waiter, keeps_nothing_that_comes_after_its_owner_has_gone_on) {
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

TEST(a_waiter, does_what_was_to_follow_the_last_answer_though_nobody_reads_it) {
    waiter w({}, nullptr, boot_clock::now(), {});
    w.asks();
    bool done = false;
    w.once_answered([&] { done = true; });
    w.close();
    w.answered({1, granted{1s}});
    EXPECT_TRUE(done);
}

class a_watch : public with_told_store {};

TEST_F(a_watch, of_a_holder_takes_no_memory_for_messages_to_others) {
    for (const auto kind : {kind::semaphore, kind::recursive}) {
        store->will_answer(busy{"other", std::nullopt, {}, {}});
        const auto got =
            client->cell_of({kind, lock_name{"stock"}})->acquire({.give_up_at = time_point::max()});
        ASSERT_TRUE(std::holds_alternative<std::shared_ptr<hold>>(got));
        const auto before = ::mallinfo2().uordblks;
        for (int i = 0; i < 10'000; ++i) store->wake(std::string(1'000, 'x'));
        EXPECT_LT(::mallinfo2().uordblks, before + 1'000'000);
    }
}

TEST_F(a_watch, ends_with_an_acquisition_that_gave_up) {
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
