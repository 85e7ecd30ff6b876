// The order of requests and answers that a real server gives only by chance.
#include "fallback/fail_open.hpp"

#include "backends/registry.hpp"
#include "base/random.hpp"
#include "io/reactor.hpp"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::fallback {
namespace {

using namespace backend;
using namespace std::chrono_literals;

// Keeps what it is asked until a test answers.
class main_store final : public store {
  public:
    struct asked {
        attempt_request what;
        handler<attempt_answer> done;
    };
    std::vector<asked> attempts;
    std::vector<release_request> releases;
    renew_answer to_renewals = renewed{30s};
    handler<watch_event> watcher;

    void answer(std::size_t n, attempt_answer a) {
        std::exchange(attempts.at(n).done, nullptr)(std::move(a));
    }

    const capabilities& has() const noexcept override { return can_; }
    traffic statistics() const noexcept override { return {}; }
    owner_id new_owner(kind, std::uint32_t) override { return owner_id{"main|" + std::to_string(++owners_)}; }
    void attempt(const attempt_request& r, time_point, handler<attempt_answer> done) override {
        attempts.push_back({r, std::move(done)});
    }
    void renew(std::span<const renew_request> all, time_point,
               handler<std::vector<renew_answer>> done) override {
        done(std::vector<renew_answer>(all.size(), to_renewals));
    }
    void release(const release_request& r, time_point, handler<release_answer> done) override {
        releases.push_back(r);
        done(released{});
    }
    std::unique_ptr<watch_handle> watch(const lock_key&, const owner_id&, handler<watch_event> to) override {
        watcher = std::move(to);
        return std::make_unique<watch_handle>();
    }
    void run_io(base::parker&, time_point) override {}
    void abandon() noexcept override {}

  private:
    capabilities can_{};
    int owners_ = 0;
};

class fail_open_order : public ::testing::Test {
  protected:
    using answers = std::shared_ptr<std::vector<attempt_answer>>;

    [[nodiscard]] std::unique_ptr<fail_open> opened() {
        return open_fail_open(
            {.given = {reactor, settings, base::client_id::make(), [](const notice&) {}},
             .how = {.name = "open", .outage = on_outage::fail_open_process, .tries = 1, .pause = 0ms},
             .main = main,
             .undo = [this](const lock_key&, const owner_id& owner,
                            milliseconds) { undone.push_back(owner.str()); },
             .open = backends::open,
             .wished = wished,
             .all_breakers = std::make_shared<breakers>(wished, [](const breaker_change&) {})});
    }
    // The answers that have come to this attempt.
    answers attempt(const owner_id& owner, intent want = intent::look) {
        auto got = std::make_shared<std::vector<attempt_answer>>();
        store->attempt({key, owner, 30s, want}, boot_clock::now() + 1min,
                       [got](attempt_answer a) { got->push_back(std::move(a)); });
        return got;
    }
    [[nodiscard]] static const granted* grant_in(const answers& all) {
        return all->size() == 1 ? std::get_if<granted>(&all->front()) : nullptr;
    }
    // The owner gets the lock of the process, whatever the main store says.
    [[nodiscard]] bool is_free_in_process() {
        const auto before = main.attempts.size();
        const auto other = store->new_owner(kind::native, 1);
        (void)attempt(other);
        const bool asked = main.attempts.size() > before;
        if (asked) main.answer(before, busy{"somebody"});
        return asked;
    }
    std::size_t release(const owner_id& owner) {
        std::size_t answered = 0;
        store->release({key, owner}, boot_clock::now() + 1min, [&](const release_answer&) { ++answered; });
        return answered;
    }
    static attempt_answer away() { return refused{{errc::unavailable, {}, {}}}; }

    const lock_key key{kind::native, lock_name{"stock"}};
    io::reactor reactor;
    config settings;
    main_store main;
    std::vector<std::string> undone;
    const std::shared_ptr<wish> wished = std::make_shared<wish>();
    std::unique_ptr<fail_open> store = opened();
    const owner_id me = main.new_owner(kind::native, 1);
};

// The caller has given up the first attempt and asked again.
TEST_F(fail_open_order, late_failure_of_an_earlier_attempt_does_not_undo_the_grant_of_a_later_one) {
    const auto first = attempt(me);
    const auto second = attempt(me);
    main.answer(1, granted{30s});
    ASSERT_NE(grant_in(second), nullptr);
    EXPECT_FALSE(grant_in(second)->weaker);
    main.answer(0, unknown{});
    EXPECT_EQ(first->size(), 1U);
    EXPECT_EQ(grant_in(first), nullptr);
    EXPECT_EQ(undone, std::vector<std::string>{});
    EXPECT_FALSE(is_free_in_process());
}

TEST_F(fail_open_order, late_answer_to_a_look_does_not_end_a_later_attempt) {
    (void)attempt(me, intent::look);
    const auto second = attempt(me, intent::queue);
    main.answer(0, busy{"somebody"});
    main.answer(1, granted{30s});
    ASSERT_NE(grant_in(second), nullptr);
    EXPECT_FALSE(is_free_in_process());
}

TEST_F(fail_open_order, waived_attempt_is_undone_and_stays_weak) {
    const auto first = attempt(me);
    main.answer(0, unknown{});
    ASSERT_NE(grant_in(first), nullptr);
    EXPECT_EQ(grant_in(first)->weaker, strength::process_local);
    EXPECT_EQ(undone, std::vector{me.str()});
    const auto again = attempt(me);
    ASSERT_NE(grant_in(again), nullptr) << "the main store is not asked again";
    EXPECT_EQ(grant_in(again)->weaker, strength::process_local);
    EXPECT_EQ(undone.size(), 1U);
}

TEST_F(fail_open_order, attempt_that_was_never_sent_is_not_undone) {
    wished->take({.breaker = forced_breaker::open}, "default");
    ASSERT_NE(grant_in(attempt(me)), nullptr);
    EXPECT_EQ(undone, std::vector<std::string>{});
}

TEST_F(fail_open_order, main_store_is_not_asked_while_that_is_wished_for) {
    wished->take({.groups = {{"default", mode::fallback}}}, "default");
    ASSERT_NE(grant_in(attempt(me)), nullptr);
    EXPECT_TRUE(main.attempts.empty());
    EXPECT_EQ(release(me), 1U);
    wished->take({.groups = {{"default", mode::store}}}, "default");
    (void)attempt(me);
    EXPECT_EQ(main.attempts.size(), 1U);
}

TEST_F(fail_open_order, breaker_does_what_it_is_forced_to) {
    wished->take({.breaker = forced_breaker::open}, "default");
    EXPECT_NE(grant_in(attempt(me)), nullptr);
    EXPECT_EQ(release(me), 1U);
    wished->take({.breaker = forced_breaker::closed}, "default");
    for (std::size_t i = 0; i < 5; ++i) {
        const auto owner = main.new_owner(kind::native, 1);
        (void)attempt(owner);
        ASSERT_EQ(main.attempts.size(), i + 1) << "it is asked although it has failed";
        main.answer(i, away());
        EXPECT_EQ(release(owner), 1U);
    }
}

TEST_F(fail_open_order, grant_after_a_release_is_undone) {
    const auto first = attempt(me, intent::queue);
    EXPECT_EQ(release(me), 1U);
    ASSERT_EQ(main.releases.size(), 1U);
    EXPECT_TRUE(is_free_in_process());
    main.answer(0, granted{30s});
    EXPECT_EQ(first->size(), 1U);
    EXPECT_EQ(undone, std::vector{me.str()});
    EXPECT_TRUE(is_free_in_process());
}

TEST_F(fail_open_order, failure_after_a_release_grants_nothing) {
    const auto first = attempt(me, intent::queue);
    EXPECT_EQ(release(me), 1U);
    main.answer(0, away());
    EXPECT_EQ(first->size(), 1U);
    EXPECT_EQ(grant_in(first), nullptr);
    EXPECT_TRUE(is_free_in_process());
}

// The client would take the message for a grant of the main store.
TEST_F(fail_open_order, message_that_grants_is_only_a_reason_to_ask_while_an_attempt_is_open) {
    std::vector<std::string> tickets;
    const auto watch = store->watch(key, me, [&](watch_event e) { tickets.push_back(e.message.ticket); });
    const auto wake = [&] { main.watcher({watch_event::change::woken, {"7"}}); };
    (void)attempt(me, intent::queue);
    main.answer(0, busy{"somebody"});
    wake();
    (void)attempt(me, intent::queue);
    wake();
    main.answer(1, away());  // and so it is waived
    wake();
    EXPECT_EQ(tickets, (std::vector<std::string>{"7", "", ""}));
}

TEST_F(fail_open_order, what_is_no_outage_is_the_answer) {
    for (const attempt_answer& no :
         {attempt_answer{refused{{errc::no_permission, {}, {}}}},
          attempt_answer{refused{{errc::wrong_kind, {}, {}}}},
          attempt_answer{unknown{{errc::no_permission, {}, {}}}},
          attempt_answer{refused{{errc::quarantined, {}, {}}}},
          attempt_answer{refused{{errc::busy_server, "others are faster", {}, true}}},
          attempt_answer{refused{{errc::out_of_memory, {}, {}}}}}) {
        const auto owner = main.new_owner(kind::native, 1);
        const auto got = attempt(owner);
        main.answer(main.attempts.size() - 1, no);
        ASSERT_EQ(got->size(), 1U);
        EXPECT_EQ(got->front().index(), no.index());
        (void)release(owner);
    }
    EXPECT_TRUE(is_free_in_process());
}

TEST_F(fail_open_order, server_without_memory_is_away_for_waiters_too) {
    const auto got = attempt(me, intent::queue);
    main.answer(0, busy{.holder = {}, .no_memory = true});
    ASSERT_NE(grant_in(got), nullptr);
    EXPECT_EQ(grant_in(got)->weaker, strength::process_local);
}

// A caller that has no time left learns nothing about the store.
TEST_F(fail_open_order, attempt_without_time_is_no_outage) {
    auto got = std::make_shared<std::vector<attempt_answer>>();
    store->attempt({key, me, 30s}, boot_clock::now() + 20ms,
                   [got](attempt_answer a) { got->push_back(std::move(a)); });
    main.answer(0, away());
    ASSERT_EQ(got->size(), 1U);
    EXPECT_TRUE(std::holds_alternative<refused>(got->front()));
    EXPECT_TRUE(is_free_in_process());
}

TEST_F(fail_open_order, silent_store_is_away_when_the_time_for_an_answer_is_up) {
    std::promise<attempt_answer> got;
    store->attempt({key, me, 30s}, boot_clock::now() + 300ms,
                   [&](attempt_answer a) { got.set_value(std::move(a)); });
    auto answer = got.get_future();
    ASSERT_EQ(answer.wait_for(1min), std::future_status::ready);
    const auto a = answer.get();
    ASSERT_TRUE(std::holds_alternative<granted>(a));
    EXPECT_EQ(std::get<granted>(a).weaker, strength::process_local);
    main.answer(0, granted{30s});  // too late
    EXPECT_EQ(undone.size(), 2U) << "at the waiver, and again for the late grant";
}

TEST_F(fail_open_order, busy_look_leaves_nothing_behind) {
    const auto first = attempt(me);
    main.answer(0, busy{"somebody"});
    EXPECT_EQ(first->size(), 1U);
    EXPECT_TRUE(is_free_in_process());
}

TEST_F(fail_open_order, busy_waiter_keeps_others_of_the_process_out) {
    (void)attempt(me, intent::queue);
    main.answer(0, busy{"somebody"});
    EXPECT_FALSE(is_free_in_process());
    EXPECT_EQ(release(me), 1U);
    EXPECT_TRUE(is_free_in_process());
}

TEST_F(fail_open_order, lease_that_the_main_store_has_lost_frees_the_process_too) {
    (void)attempt(me);
    main.answer(0, granted{30s});
    main.to_renewals = not_held{};
    std::vector<renew_answer> got;
    const std::vector<renew_request> one{{key, me, 30s}};
    store->renew(one, boot_clock::now() + 1min, [&](std::vector<renew_answer> a) {
        got = std::move(a);
        EXPECT_FALSE(is_free_in_process()) << "its holder does not know yet";
    });
    ASSERT_EQ(got.size(), 1U);
    EXPECT_TRUE(std::holds_alternative<not_held>(got[0]));
    EXPECT_TRUE(is_free_in_process());
}

TEST_F(fail_open_order, each_attempt_is_answered_when_the_store_is_closed) {
    const auto open = attempt(me, intent::queue);
    store.reset();
    main.answer(0, granted{30s});
    EXPECT_EQ(open->size(), 1U);
}

}  // namespace
}  // namespace holdfast::fallback
