// Leases that end with something that they share, and leases that end with the client's session.
#include "support/eventually.hpp"
#include "unit/session/scripted_store.hpp"

namespace holdfast::session {
namespace {

using namespace backend;
using test::eventually;
using test::patience;

class bounded_leases : public with_scripted_store {
  protected:
    // A lease of 30 s that ends with `limit`.
    std::shared_ptr<held_lease> acquire(client_lock& on) {
        store->will_answer(granted{.lease = 30s, .bound = limit});
        lock(on, 30s);
        return on.own_lease();
    }

    const std::shared_ptr<bound> limit = std::make_shared<bound>(boot_clock::now() + 1h);
    const std::shared_ptr<client_lock> one = lock_of(kind::native, "one");
    const std::shared_ptr<client_lock> two = lock_of(kind::native, "two");
};

TEST_F(bounded_leases, are_valid_until_the_earlier_of_deadline_and_bound) {
    const auto t = acquire(*one);
    EXPECT_EQ(t->deadline(), t->own_deadline());
    const auto now = boot_clock::now();
    const auto early = std::make_shared<bound>(now + 10s);
    store->will_answer(granted{.lease = 30s, .bound = early});
    lock(*two, 30s);
    const auto u = two->own_lease();
    EXPECT_EQ(u->deadline(), now + 10s);
    early->extend(now + 20s, now);
    EXPECT_EQ(u->deadline(), now + 20s);
    early->extend(now + 1h, now);
    EXPECT_EQ(u->deadline(), u->own_deadline());
}

TEST_F(bounded_leases, are_all_lost_when_the_bound_ends) {
    const auto t = acquire(*one);
    const auto u = acquire(*two);
    const auto lost = u->lost_token();
    limit->end();
    EXPECT_FALSE(t->valid());
    EXPECT_FALSE(u->valid());
    EXPECT_EQ(t->state(), lease_state::lost);
    EXPECT_GE(t->deadline(), time_point{}) << "the time left can be computed";
    client->on_notice({.what = notice::change::session_lost});
    EXPECT_TRUE(eventually(patience, [&] { return lost.stop_requested(); }));
}

TEST_F(bounded_leases, are_reported_as_lost_once_the_bound_is_reached) {
    const auto soon = std::make_shared<bound>(boot_clock::now() + 50ms);
    store->will_answer(granted{.lease = 30s, .bound = soon});
    lock(*one, 30s);
    const auto lost = one->own_lease()->lost_token();
    EXPECT_TRUE(eventually(patience, [&] { return lost.stop_requested(); }));
    EXPECT_GE(boot_clock::now(), soon->until());
    EXPECT_EQ(client->counts.snapshot(0).lost, 1U);
}

// The session ends between the grant and the moment in which the lease is known.
TEST_F(bounded_leases, are_reported_as_lost_if_the_bound_ended_while_another_lease_had_it) {
    (void)acquire(*one);
    limit->end();
    const auto late = std::make_shared<held_lease>(
        client->store(), backend::lock_key{kind::native, lock_name{"two"}}, owner_id{"me|9"},
        engine::lease_terms{30s, false}, fence::none, boot_clock::now() + 30s, boot_clock::now(), limit);
    late->counts = &client->counts.of("two");
    const auto lost = late->lost_token();
    client->began(late, 0ms);
    EXPECT_TRUE(eventually(patience, [&] { return lost.stop_requested(); }));
}

TEST_F(bounded_leases, live_on_while_the_bound_moves) {
    const auto moving = std::make_shared<bound>(boot_clock::now() + 10s);
    store->will_answer(granted{.lease = 30s, .bound = moving});
    lock(*one, 30s);
    const auto t = one->own_lease();
    const auto now = boot_clock::now();
    moving->extend(now + 20s, now);
    moving->extend(now + 15s, now);
    EXPECT_EQ(t->deadline(), now + 20s) << "a bound moves forward only";
    EXPECT_TRUE(t->valid());
}

TEST_F(bounded_leases, do_not_come_back_with_a_bound_that_was_reached) {
    const auto t = acquire(*one);
    limit->end();
    const auto now = boot_clock::now();
    limit->extend(now + 1h, now);
    EXPECT_FALSE(t->valid());
}

TEST_F(bounded_leases, are_not_lengthened_by_a_renewal_that_is_answered_after_the_bound) {
    store->will_answer(granted{.lease = 30s, .bound = limit});
    lock(*one);
    const auto t = one->own_lease();
    client->renew_now(t, 0);
    (void)store->renewal(0);
    limit->end();
    store->renews(0);
    EXPECT_FALSE(t->valid());
}

TEST_F(bounded_leases, are_refused_when_the_bound_was_over_before_the_answer) {
    limit->end();
    store->will_answer(granted{.lease = 30s, .bound = limit});
    const auto got = one->acquire({.ttl = 30s});  // one try
    ASSERT_TRUE(std::holds_alternative<failed>(got));
    EXPECT_EQ(std::get<failed>(got).why, errc::lease_too_short);
}

TEST_F(bounded_leases, keep_their_bound_when_another_thread_takes_them_over) {
    const auto t = acquire(*one);
    const auto next = std::make_shared<held_lease>(t->store, t->key, t->owner, t->terms(), t->fence,
                                                   t->own_deadline(), t->since, t->bound);
    limit->end();
    EXPECT_FALSE(next->valid());
}

// --- sessions -----------------------------------------------------------------------------------------

class leases_of_a_session : public with_scripted_store {
  protected:
    leases_of_a_session() : with_scripted_store({.poll_gap = 20ms, .answer_timeout = 100ms}) {
        store->can.ends = lease_end::by_session;
        store->session = session_timeout;
        store->on_release([this] { ++released; });
    }

    static constexpr milliseconds session_timeout = 10s;
    const std::shared_ptr<client_lock> mine = lock_of(kind::native);
    const std::shared_ptr<client_lock> other = lock_of(kind::native, "other");
    std::atomic<int> released{0};
};

TEST_F(leases_of_a_session, are_released_by_the_client_when_their_ttl_is_over) {
    lock(*mine, 20ms);
    EXPECT_TRUE(eventually(patience, [&] { return released == 1; }));
    EXPECT_FALSE(mine->own_lease()->valid());
}

TEST_F(leases_of_a_session, are_not_released_after_a_ttl_where_the_store_frees_them_by_time) {
    store->can.ends = lease_end::by_time;
    lock(*mine, 20ms);
    const auto lost = mine->own_lease()->lost_token();
    EXPECT_TRUE(eventually(patience, [&] { return lost.stop_requested(); }));
    client->reactor().run_and_wait([] {});
    EXPECT_EQ(released, 0);
}

TEST_F(leases_of_a_session, are_all_lost_with_the_session_and_nothing_is_released) {
    lock(*mine, 1h);
    lock(*other);
    client->on_notice({.what = notice::change::session_lost, .detail = "it was silent for too long"});
    EXPECT_EQ(mine->own_lease()->state(), lease_state::lost);
    EXPECT_EQ(other->own_lease()->state(), lease_state::lost);
    client->reactor().run_and_wait([] {});
    EXPECT_EQ(released, 0);
}

TEST_F(leases_of_a_session, are_held_until_the_session_may_have_ended_when_a_release_has_no_answer) {
    store->is_silent_to_releases();
    auto got = mine->acquire({.give_up_at = time_point::max(), .ttl = 200ms});
    const auto before = boot_clock::now();
    const auto end = std::get<std::shared_ptr<hold>>(got)->release();
    EXPECT_EQ(end, release_outcome::unknown_until);
    EXPECT_GE(end.until, before + session_timeout);
}

TEST_F(leases_of_a_session, are_released_again_and_again_until_the_store_answers) {
    store->refuses_releases(8);  // more often than a lease that ends by time is released
    lock(*mine, 20ms);
    EXPECT_TRUE(eventually(patience, [&] { return released == 1; }));
}

TEST_F(leases_of_a_session, are_not_released_again_once_the_session_has_ended) {
    store->refuses_releases(1'000'000);
    lock(*mine, 20ms);
    const auto refused = [&] { return store->refused(mine->key().name); };
    EXPECT_TRUE(eventually(patience, [&] { return refused() >= 1; }));
    client->on_notice({.what = notice::change::session_lost});
    client->reactor().run_and_wait([] {});
    const auto so_far = refused();
    lock(*other, 1s);  // the client goes on
    EXPECT_TRUE(eventually(patience, [&] { return !other->own_lease()->valid(); }));
    EXPECT_LE(refused(), so_far + 1) << "one that was under way";
}

TEST(closed_client, refuses_an_acquisition_on_replicas_without_asking_its_store) {
    const auto client =
        client_state::open({}, [](client_state&) { return std::make_unique<scripted_store>(); });
    const auto lock = client->lock_of({kind::native, lock_name{"stock"}});
    client->close();
    const auto got = lock->acquire({.replicas = {.at_least = 1, .within = 1ms}});
    ASSERT_TRUE(std::holds_alternative<failed>(got));
    EXPECT_EQ(std::get<failed>(got).why, errc::closed);
}

// --- what else a store may say of itself ----------------------------------------------------------------

class store_without_messages : public with_scripted_store {
  protected:
    store_without_messages() { store->can.ask_every = 5ms; }

    const std::shared_ptr<client_lock> mine = lock_of(kind::native);
};

TEST_F(store_without_messages, is_asked_again_and_never_watched) {
    for (int i = 0; i < 3; ++i) store->will_answer(busy{"other", std::nullopt, {}, {}});
    lock(*mine);
    EXPECT_TRUE(mine->own_lease()->valid());
    EXPECT_EQ(store->watches_ever(), 0);
}

TEST_F(store_without_messages, is_asked_no_more_often_than_it_wants) {
    store->can.ask_every = 120ms;
    for (int i = 0; i < 3; ++i) store->will_answer(busy{"other", std::nullopt, {}, {}});
    const auto before = boot_clock::now();
    lock(*mine);
    EXPECT_GE(boot_clock::now() - before, 360ms);
}

using renewals_at_a_time = with_scripted_store;

TEST_F(renewals_at_a_time, are_as_many_as_the_store_wants) {
    store->can.renewals_at_a_time = 2;
    store->renews_at_once(true);
    std::vector<std::shared_ptr<client_lock>> all;
    for (int i = 0; i < 7; ++i) {
        all.push_back(lock_of(kind::native, std::to_string(i)));
        lock(*all.back());
    }
    client->on_notice({.what = notice::change::link_up});  // all are due
    ASSERT_TRUE(eventually(patience, [&] { return client->counts.snapshot(0).renewals >= 7; }));
    EXPECT_EQ(store->most_renewals_in_a_call(), 2U);
    for (const auto& c : all) c->unlock();
}

}  // namespace
}  // namespace holdfast::session
