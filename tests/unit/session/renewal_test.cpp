// How far the answer to a renewal extends a lease when several are under way.
#include "support/eventually.hpp"
#include "unit/session/scripted_store.hpp"

#include <future>

namespace holdfast::session {
namespace {

using namespace backend;

class renewal_test : public with_scripted_store {
  protected:
    // Leaves two renewals under way; the shorter one was sent first.
    void nest_a_hold_without_ttl_in_one_of(milliseconds ttl) {
        lock(*mine, ttl);
        lock(*mine, ttl);
        EXPECT_EQ(store->renewal(0).lease, ttl);
        sent = boot_clock::now();
        lock(*mine);
        EXPECT_EQ(store->renewal(1).lease, client->settings.lease);
        held = mine->own_lease();
    }

    const std::shared_ptr<client_lock> mine = lock_of(backend::kind::recursive);
    time_point sent;  // when the first was sent
    std::shared_ptr<held_lease> held;
};

using renewed_lease = renewal_test;

TEST_F(renewal_test, counts_for_the_lease_that_it_requested_not_the_current_one) {
    nest_a_hold_without_ttl_in_one_of(10s);
    store->renews(0);
    EXPECT_LE(held->deadline(), sent + 10s);
    store->renews(1);
    EXPECT_GT(held->deadline(), sent + 10s);
}

TEST_F(renewal_test, counts_for_no_more_than_it_requested) {
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

TEST_F(renewed_lease, is_renewed_earlier_if_the_store_gives_it_a_shorter_time) {
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

TEST_F(renewed_lease, ends_earlier_if_the_store_says_so) {
    lock(*mine);
    held = mine->own_lease();
    client->renew_now(held, 0);
    (void)store->renewal(0);
    store->answer(0, renewed{5s});
    EXPECT_LE(held->deadline(), boot_clock::now() + 5s);
    EXPECT_TRUE(held->valid());
}

TEST_F(renewed_lease, ends_no_earlier_if_the_store_said_so_before_it_gave_more) {
    nest_a_hold_without_ttl_in_one_of(10s);
    store->renews(1);
    const auto deadline = held->deadline();
    store->answer(0, renewed{5s});
    EXPECT_EQ(held->deadline(), deadline);
}

TEST_F(renewal_test, shortens_no_lease_if_it_is_shorter_and_answered_last) {
    nest_a_hold_without_ttl_in_one_of(10s);
    store->renews(1);
    const auto deadline = held->deadline();
    store->renews(0);
    EXPECT_EQ(held->deadline(), deadline);
}

TEST_F(renewal_test, is_sent_again_before_the_shorter_lease_ends_if_it_is_lost) {
    nest_a_hold_without_ttl_in_one_of(10s);
    store->renews(0);
    EXPECT_EQ(store->renewal(2).lease, client->settings.lease);
    EXPECT_LT(boot_clock::now(), held->deadline());
}

TEST_F(renewal_test, puts_the_lease_in_jeopardy_if_the_longer_one_fails) {
    nest_a_hold_without_ttl_in_one_of(10s);
    store->renews(0);
    store->answer(1, unknown{});
    EXPECT_EQ(held->state(), lease_state::jeopardy);
}

TEST_F(renewal_test, changes_nothing_if_it_fails_after_a_later_one_worked_for_less_than_asked) {
    nest_a_hold_without_ttl_in_one_of(10s);
    store->answer(1, renewed{8s});
    store->answer(0, unknown{});
    EXPECT_EQ(held->state(), lease_state::held);
}

TEST_F(renewal_test, changes_nothing_if_it_fails_after_a_longer_one_worked) {
    nest_a_hold_without_ttl_in_one_of(10s);
    store->renews(1);
    store->answer(0, unknown{});
    EXPECT_EQ(held->state(), lease_state::held);
}

// A thread that holds the lock locks it again, for a different time.
class nested_hold : public with_scripted_store {
  protected:
    void nest(std::optional<milliseconds> outer, milliseconds inner) {
        lock(*mine, outer);
        held = mine->own_lease();
        before = held->deadline();
        nested = boot_clock::now();
        lock(*mine, inner);
    }

    const std::shared_ptr<client_lock> mine = lock_of(backend::kind::recursive);
    std::shared_ptr<held_lease> held;
    time_point before;  // the deadline
    time_point nested;
};

TEST_F(nested_hold, for_longer_extends_the_lease_once_the_store_agrees) {
    nest(2s, 10s);
    EXPECT_EQ(store->renewal(0).lease, 10s);
    EXPECT_EQ(held->deadline(), before);
    store->renews(0);
    EXPECT_GT(held->deadline(), nested + 9s);
    EXPECT_FALSE(held->renewed());
}

TEST_F(nested_hold, for_longer_lasts_as_long_as_the_outer_one_without_an_answer) {
    nest(2s, 10s);
    (void)store->renewal(0);
    store->answer(0, unknown{});
    EXPECT_EQ(held->deadline(), before);
}

TEST_F(nested_hold, for_longer_extends_a_renewed_lease_too) {
    nest({}, 90s);
    EXPECT_EQ(store->renewal(0).lease, 90s);
    store->renews(0);
    EXPECT_GT(held->deadline(), nested + 80s);
    EXPECT_TRUE(held->renewed());
}

TEST_F(nested_hold, for_a_shorter_time_does_not_shorten_the_lease) {
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

TEST_F(nested_hold, with_a_longer_renewal_renews_the_whole_lease_for_longer) {
    const auto got =
        mine->acquire({.give_up_at = time_point::max(), .ttl = 2s, .renew = true, .by_thread = true});
    ASSERT_TRUE(std::holds_alternative<std::shared_ptr<hold>>(got));
    lock(*mine);
    EXPECT_EQ(store->renewal(0).lease, client->settings.lease);
    EXPECT_EQ(mine->own_lease()->lease(), client->settings.lease);
}

// Such a lease keeps its owner in the store.
class handed_off_lease : public with_scripted_store {
  protected:
    // Hands off while a renewal for the first holder is under way. A busy machine may be too late for it.
    void SetUp() override {
        const auto give_up_at = boot_clock::now() + 20s;
        do {
            ASSERT_LT(boot_clock::now(), give_up_at);
            if (successor) successor->release();
            const auto got = mine->acquire({});
            const auto first = std::static_pointer_cast<hold_of_one>(std::get<std::shared_ptr<hold>>(got));
            owner = first->of->owner;
            client->renew_now(first->of, 0);
            (void)store->renewal(under_way = sent++);
            std::promise<std::shared_ptr<hold>> next;
            mine->acquire_later({.give_up_at = time_point::max()}, [&](const client_lock::outcome& o) {
                next.set_value(std::get<std::shared_ptr<hold>>(o));
            });
            client->reactor().run_and_wait([] {});
            EXPECT_EQ(first->release(), release_outcome::released);
            successor = std::static_pointer_cast<hold_of_one>(next.get_future().get());
        } while (successor->of->owner != owner);
    }

    const std::shared_ptr<client_lock> mine = lock_of(backend::kind::native);
    owner_id owner;
    std::size_t sent = 0;
    std::size_t under_way = 0;
    std::shared_ptr<hold_of_one> successor;
};

TEST_F(renewal_test, reports_jeopardy_again_with_the_reason_if_it_is_refused) {
    std::promise<event> refused;
    const auto listening = client->listen([&](const event& e) {
        if (e.kind == event_kind::jeopardy && e.reason == errc::no_permission) refused.set_value(e);
    });
    nest_a_hold_without_ttl_in_one_of(10s);
    store->answer(1, unknown{});
    ASSERT_EQ(held->state(), lease_state::jeopardy);
    store->answer(0, backend::refused{{errc::no_permission, {}, "NOPERM no right"}});
    auto report = refused.get_future();
    ASSERT_EQ(report.wait_for(test::patience), std::future_status::ready);
    EXPECT_NE(report.get().detail.find("NOPERM no right"), std::string::npos);
}

TEST_F(handed_off_lease, is_lost_if_the_renewal_of_its_first_holder_finds_it_lost) {
    EXPECT_TRUE(successor->valid());
    store->answer(under_way, not_held{});
    EXPECT_FALSE(successor->valid());
}

TEST_F(renewal_test, ends_the_lease_of_the_next_thread_if_it_finds_it_lost) {
    lock(*mine);
    const auto first = mine->own_lease();
    client->renew_now(first, 0);
    (void)store->renewal(0);
    ASSERT_TRUE(first->move_to(lease_state::released));  // the next thread is chosen, and not linked yet
    store->answer(0, not_held{});
    const auto next = std::make_shared<held_lease>(first->store, first->key, first->owner, first->terms(),
                                                   first->fence, first->deadline(), boot_clock::now());
    client->handed_off(*first, next, {});
    EXPECT_FALSE(next->valid());
    EXPECT_EQ(next->counted_from(), first->since) << "the time of the lease runs on";
}

TEST_F(handed_off_lease, is_extended_by_the_renewal_of_its_first_holder) {
    const auto before = successor->deadline();
    store->renews(under_way);
    EXPECT_GT(successor->deadline(), before);
}

}  // namespace
}  // namespace holdfast::session
