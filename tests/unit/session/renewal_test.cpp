// What the answer to a renewal is worth, when several are under way.
#include "support/eventually.hpp"
#include "unit/session/told_store.hpp"

#include <future>

namespace holdfast::session {
namespace {

using namespace backend;

class a_renewal : public with_told_store {
  protected:
    // Two renewals are under way, the shorter one was sent first.
    void nest_a_hold_without_ttl_in_one_of(milliseconds ttl) {
        lock(*mine, ttl);
        lock(*mine, ttl);
        EXPECT_EQ(store->renewal(0).lease, ttl);
        sent = boot_clock::now();
        lock(*mine);
        EXPECT_EQ(store->renewal(1).lease, client->settings.lease);
        held = mine->own_lease();
    }

    const std::shared_ptr<cell> mine = lock_of(backend::kind::recursive);
    time_point sent;  // the first
    std::shared_ptr<tenancy> held;
};

using a_lease = a_renewal;

TEST_F(a_renewal, is_worth_the_lease_that_it_asked_for_and_not_the_one_wanted_by_now) {
    nest_a_hold_without_ttl_in_one_of(10s);
    store->renews(0);
    EXPECT_LE(held->deadline(), sent + 10s);
    store->renews(1);
    EXPECT_GT(held->deadline(), sent + 10s);
}

TEST_F(a_renewal, is_worth_no_more_than_the_store_gave) {
    lock(*mine);
    held = mine->own_lease();
    const auto granted_until = held->deadline();
    client->renew_now(held, 0);
    (void)store->renewal(0);
    store->answer(0, renewed{client->settings.lease + 5s});
    const auto after = boot_clock::now();
    EXPECT_GE(held->deadline(), granted_until);
    EXPECT_LE(held->deadline(), after + client->settings.lease);
}

TEST_F(a_lease, that_the_store_gives_for_a_shorter_time_is_renewed_so_much_the_earlier) {
    store->will_answer(granted{900ms});
    lock(*mine);
    held = mine->own_lease();
    for (std::size_t i = 0; i < 4; ++i) {  // it is over long before a third of what is asked for
        EXPECT_EQ(store->renewal(i).lease, client->settings.lease);
        store->answer(i, renewed{900ms});
    }
    EXPECT_TRUE(held->valid());
    EXPECT_LE(held->deadline(), boot_clock::now() + 900ms);
}

TEST_F(a_renewal, that_is_shorter_and_answered_last_takes_nothing_away) {
    nest_a_hold_without_ttl_in_one_of(10s);
    store->renews(1);
    const auto deadline = held->deadline();
    store->renews(0);
    EXPECT_EQ(held->deadline(), deadline);
}

TEST_F(a_renewal, that_is_longer_and_lost_is_sent_again_before_the_shorter_lease_ends) {
    nest_a_hold_without_ttl_in_one_of(10s);
    store->renews(0);
    EXPECT_EQ(store->renewal(2).lease, client->settings.lease);
    EXPECT_LT(boot_clock::now(), held->deadline());
}

TEST_F(a_renewal, that_is_longer_and_fails_brings_the_lease_into_jeopardy) {
    nest_a_hold_without_ttl_in_one_of(10s);
    store->renews(0);
    store->answer(1, unknown{});
    EXPECT_EQ(held->state(), lease_state::jeopardy);
}

TEST_F(a_renewal, that_is_shorter_and_fails_after_a_longer_one_worked_changes_nothing) {
    nest_a_hold_without_ttl_in_one_of(10s);
    store->renews(1);
    store->answer(0, unknown{});
    EXPECT_EQ(held->state(), lease_state::held);
}

// A thread that holds the lock locks it again, for another time.
class a_nested_hold : public with_told_store {
  protected:
    void nest(std::optional<milliseconds> outer, milliseconds inner) {
        lock(*mine, outer);
        held = mine->own_lease();
        before = held->deadline();
        nested = boot_clock::now();
        lock(*mine, inner);
    }

    const std::shared_ptr<cell> mine = lock_of(backend::kind::recursive);
    std::shared_ptr<tenancy> held;
    time_point before;  // the deadline
    time_point nested;
};

TEST_F(a_nested_hold, for_longer_lasts_so_once_the_store_has_said_yes) {
    nest(2s, 10s);
    EXPECT_EQ(store->renewal(0).lease, 10s);
    EXPECT_EQ(held->deadline(), before);
    store->renews(0);
    EXPECT_GT(held->deadline(), nested + 9s);
    EXPECT_FALSE(held->renewed());
}

TEST_F(a_nested_hold, for_longer_that_has_no_answer_lasts_as_long_as_the_outer_one) {
    nest(2s, 10s);
    (void)store->renewal(0);
    store->answer(0, unknown{});
    EXPECT_EQ(held->deadline(), before);
}

TEST_F(a_nested_hold, for_longer_within_one_that_is_renewed_lasts_so_too) {
    nest({}, 90s);
    EXPECT_EQ(store->renewal(0).lease, 90s);
    store->renews(0);
    EXPECT_GT(held->deadline(), nested + 80s);
    EXPECT_TRUE(held->renewed());
}

TEST_F(a_nested_hold, for_a_shorter_time_shortens_nothing) {
    nest(10s, 2s);
    EXPECT_EQ(store->renewal(0).lease, 10s);
    EXPECT_EQ(held->deadline(), before);
    store->renews(0);
    EXPECT_GE(held->deadline(), before);
    mine->unlock();
    (void)store->renewal(1);
    store->renews(1);
    EXPECT_GE(held->deadline(), before);
}

TEST_F(a_nested_hold, that_is_renewed_for_longer_at_a_time_has_the_whole_renewed_so) {
    const auto got =
        mine->acquire({.give_up_at = time_point::max(), .ttl = 2s, .renew = true, .by_thread = true});
    ASSERT_TRUE(std::holds_alternative<std::shared_ptr<hold>>(got));
    lock(*mine);
    EXPECT_EQ(store->renewal(0).lease, client->settings.lease);
    EXPECT_EQ(mine->own_lease()->lease(), client->settings.lease);
}

// Such a lease keeps its owner in the store.
class a_lease_that_was_passed_on : public with_told_store {
  protected:
    // While a renewal for the first holder is under way. A busy machine may be too late for it.
    void SetUp() override {
        const auto give_up_at = boot_clock::now() + 20s;
        do {
            ASSERT_LT(boot_clock::now(), give_up_at);
            if (heir) heir->release();
            const auto got = mine->acquire({});
            const auto first = std::static_pointer_cast<hold_of_one>(std::get<std::shared_ptr<hold>>(got));
            owner = first->of->owner;
            client->renew_now(first->of, 0);
            (void)store->renewal(under_way = sent++);
            std::promise<std::shared_ptr<hold>> next;
            mine->acquire_later({.give_up_at = time_point::max()}, [&](const cell::outcome& o) {
                next.set_value(std::get<std::shared_ptr<hold>>(o));
            });
            client->reactor().run_and_wait([] {});
            EXPECT_EQ(first->release(), release_outcome::released);
            heir = std::static_pointer_cast<hold_of_one>(next.get_future().get());
        } while (heir->of->owner != owner);
    }

    const std::shared_ptr<cell> mine = lock_of(backend::kind::native);
    owner_id owner;
    std::size_t sent = 0;
    std::size_t under_way = 0;
    std::shared_ptr<hold_of_one> heir;
};

TEST_F(a_renewal, that_is_refused_after_one_without_answer_tells_of_jeopardy_again_and_why) {
    std::promise<event> refused;
    const auto listening = client->listen([&](const event& e) {
        if (e.kind == event_kind::jeopardy && e.reason == errc::no_permission) refused.set_value(e);
    });
    nest_a_hold_without_ttl_in_one_of(10s);
    store->answer(1, unknown{});
    ASSERT_EQ(held->state(), lease_state::jeopardy);
    store->answer(0, backend::refused{{errc::no_permission, {}, "NOPERM no right"}});
    auto told = refused.get_future();
    ASSERT_EQ(told.wait_for(test::patience), std::future_status::ready);
    EXPECT_NE(told.get().detail.find("NOPERM no right"), std::string::npos);
}

TEST_F(a_lease_that_was_passed_on, is_lost_when_the_store_says_so_of_its_first_holder) {
    EXPECT_TRUE(heir->valid());
    store->answer(under_way, not_held{});
    EXPECT_FALSE(heir->valid());
}

TEST_F(a_renewal, that_finds_a_lease_lost_just_as_it_is_passed_on_leaves_nothing_to_the_next_thread) {
    lock(*mine);
    const auto first = mine->own_lease();
    client->renew_now(first, 0);
    (void)store->renewal(0);
    ASSERT_TRUE(first->move_to(lease_state::released));  // the next thread is chosen, and not linked yet
    store->answer(0, not_held{});
    const auto next = std::make_shared<tenancy>(first->key, first->owner, first->terms(), first->token,
                                                first->deadline(), boot_clock::now());
    client->passed_on(*first, next, {});
    EXPECT_FALSE(next->valid());
}

TEST_F(a_lease_that_was_passed_on, lasts_longer_by_the_renewal_of_its_first_holder) {
    const auto before = heir->deadline();
    store->renews(under_way);
    EXPECT_GT(heir->deadline(), before);
}

}  // namespace
}  // namespace holdfast::session
