// A server that forgets scripts, cuts connections, is slow, restarts or is gone (hazards 16, 21, 22, 32, 35).
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

redis_server::options wanted() {
    redis_server::options o;
    o.disk = redis_server::persistence::append_only;
    o.debug_command = true;
    return o;
}

config quick_to_give_up(const std::string& url) {
    config c = settings(url, 6s);  // outlives a machine that stalls for a moment
    c.answer_timeout = 400ms;
    return c;
}

template <class Kind>
class server_trouble : public ::testing::Test {
  protected:
    using lock_type = std::remove_reference_t<decltype(Kind::make(std::declval<client&>(), ""))>;

    // After a restart the others have to connect again first.
    lease acquired_by_others() {
        lease next;
        (void)eventually(patience, [&] {
            std::error_code ec;
            next = others.try_acquire_for(patience, ec);
            return next.valid();
        });
        return next;
    }

    redis_server server{wanted()};
    client c{quick_to_give_up(server.url())};
    client d{quick_to_give_up(server.url())};
    lock_type lock = Kind::make(c, "job");
    lock_type others = Kind::make(d, "job");
    event_recorder events{c};
};
TYPED_TEST_SUITE(server_trouble, all_ways, kind_names);

// "No" means that the store answered so. Threads that wait behind others of their process have not asked it
// themselves.
TYPED_TEST(server_trouble, timed_try_is_an_error_and_not_no_when_the_store_is_gone) {
    const lease held = this->others.acquire({.ttl = 2s});
    std::vector<std::future<std::error_code>> all;
    for (int i = 0; i < 4; ++i) {
        all.push_back(in_background([&] {
            std::error_code ec;
            EXPECT_FALSE(this->lock.try_acquire_for(5s, ec));
            return ec;
        }));
    }
    EXPECT_TRUE(eventually(patience, [&] { return this->c.stats().attempts.busy >= 2; }));
    this->server.stop();
    for (auto& one : all) {
        const auto why = one.get();
        EXPECT_TRUE(why == condition::try_later || why == condition::unknown) << why.message();
    }
}

TYPED_TEST(server_trouble, scripts_may_be_flushed_at_any_time) {
    // Its answers may take longer on a busy machine.
    client patient{this->server.url()};
    auto lasting = TypeParam::make(patient, "job");
    auto worker = in_background([&] {
        for (int i = 0; i < 300 / slower; ++i) {
            lease held = lasting.acquire();
            EXPECT_TRUE(held.valid());
            EXPECT_EQ(held.release(), release_outcome::released);
        }
    });
    while (!ready(worker)) this->server.command({"SCRIPT", "FLUSH"});
    worker.get();
    EXPECT_FALSE(exists(this->server, "job"));

    // Renewals too.
    lease held = this->lock.acquire();
    this->server.command({"SCRIPT", "FLUSH"});
    const auto renewals = this->c.stats().renewals;
    EXPECT_TRUE(eventually(patience, [&] { return this->c.stats().renewals > renewals; }));
    EXPECT_TRUE(held.valid());
}

TYPED_TEST(server_trouble, connections_may_be_cut_while_holding_and_waiting) {
    lease held = this->lock.acquire();
    auto waiter = waiter_for(this->others);
    ASSERT_TRUE(waits<TypeParam>(this->server, "job"));
    this->server.command({"CLIENT", "KILL", "TYPE", "normal"});
    EXPECT_TRUE(this->events.has(event_kind::store_down));
    const auto renewals = this->c.stats().renewals;
    EXPECT_TRUE(eventually(patience, [&] { return this->c.stats().renewals > renewals; }));
    EXPECT_TRUE(held.valid());
    EXPECT_FALSE(ready(waiter));
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(waiter.get().valid());
}

TYPED_TEST(server_trouble, slow_server_is_waited_for_and_a_very_slow_one_is_not) {
    config how = settings(this->server.url());
    how.answer_timeout = 30s;
    client waits{how};
    auto patient = TypeParam::make(waits, "job");
    // Connected, and the scripts are known.
    ASSERT_TRUE(patient.acquire().release());
    ASSERT_TRUE(used_once(this->lock));
    auto sleeper = in_background([&] { this->server.command({"DEBUG", "SLEEP", "0.2"}); });
    {
        lease held = patient.try_acquire();
        EXPECT_TRUE(held.valid());
        EXPECT_EQ(held.release(), release_outcome::released);
    }
    sleeper.get();
    this->server.pause();
    std::error_code why;
    while (!why) lease held = this->lock.try_acquire(why);
    EXPECT_TRUE(why == condition::unknown || why == condition::try_later) << why.message();
    this->server.resume();
    lease held = this->lock.try_acquire_for(patience);
    EXPECT_TRUE(held.valid());
}

TYPED_TEST(server_trouble, restart_with_its_data_costs_no_lease) {
    // Longer than a server needs to start from the slowest disk.
    lease held = this->lock.acquire({.ttl = 20s, .renew = true});
    const auto renewals = this->c.stats().renewals;
    this->server.restart(redis_server::data::keep);
    EXPECT_TRUE(this->events.has(event_kind::store_restarted));
    EXPECT_TRUE(eventually(patience, [&] { return this->c.stats().renewals > renewals; }));
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(TypeParam::holder(this->server, "job"), held.owner().str());
    EXPECT_FALSE(this->others.try_acquire());
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_FALSE(this->events.has(event_kind::lost, 0ms));
}

TYPED_TEST(server_trouble, restart_without_its_data_ends_the_leases) {
    lease held = this->lock.acquire();
    this->server.restart(redis_server::data::lose);
    EXPECT_TRUE(this->events.has(event_kind::store_restarted));
    EXPECT_TRUE(this->events.has(event_kind::lost));
    EXPECT_FALSE(held.valid());
    lease next = this->acquired_by_others();
    EXPECT_TRUE(next.valid());
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_TRUE(next.valid());
    EXPECT_EQ(TypeParam::holder(this->server, "job"), next.owner().str());
}

TYPED_TEST(server_trouble, lease_that_the_store_lost_is_not_valid_beyond_its_deadline) {
    lease held = this->lock.acquire({.ttl = 600ms, .renew = false});
    const auto deadline = held.deadline();
    this->server.restart(redis_server::data::lose);
    lease next = this->acquired_by_others();
    ASSERT_TRUE(next.valid());
    // Two leases may be valid until then, not after: S2, of a store that lost what it had acknowledged.
    EXPECT_EQ(held.deadline(), deadline);
    EXPECT_TRUE(eventually(patience, [&] { return boot_clock::now() >= deadline; }));
    EXPECT_FALSE(held.valid());
    EXPECT_TRUE(next.valid());
}

TYPED_TEST(server_trouble, stopped_server_is_soon_an_error_and_works_again_when_started) {
    ASSERT_TRUE(used_once(this->lock));
    this->server.stop();
    for (int i = 0; i < 3; ++i) {
        const stopwatch since;
        const auto why = code_of([&] { (void)this->lock.try_lock(); });
        EXPECT_TRUE(why == condition::try_later || why == condition::unknown) << why.message();
        EXPECT_LT(since.took(), 400ms + slack);
    }
    this->server.start();
    EXPECT_TRUE(eventually(patience, [&] {
        std::error_code ec;
        lease held = this->lock.try_acquire(ec);
        return held.valid();
    }));
}

TYPED_TEST(server_trouble, server_that_never_ran_is_soon_an_error) {
    // Refused connections are an answer, long before answer_timeout, after which the outcome would be
    // unknown.
    client nowhere{"redis://127.0.0.1:1"};
    auto there = TypeParam::make(nowhere, "job");
    const stopwatch since;
    EXPECT_EQ(code_of([&] { (void)there.try_lock(); }), errc::unavailable);
    EXPECT_LT(since.took(), 2s + slack);
    std::error_code why;
    EXPECT_FALSE(there.try_acquire_for(2s, why));
    EXPECT_EQ(why, errc::unavailable) << "and not: another client holds it";
}

TYPED_TEST(server_trouble, wait_that_begins_in_an_outage_is_served_after_it) {
    this->server.stop();
    client fresh{this->server.url()};
    auto wanted = TypeParam::make(fresh, "job");
    auto waiter = in_background([&] { return wanted.try_acquire_for(patience); });
    EXPECT_FALSE(ready(waiter, 1s));
    this->server.start();
    EXPECT_TRUE(waiter.get().valid());
}

TYPED_TEST(server_trouble, timeouts_are_kept_while_the_server_does_not_answer) {
    client patient{this->server.url()};  // waits 2 s for an answer
    auto wanted = TypeParam::make(patient, "job");
    client another{this->server.url()};
    lease held = TypeParam::make(another, "job").acquire();
    EXPECT_FALSE(wanted.try_acquire());
    const auto takes = [&](milliseconds wait) {
        const stopwatch since;
        std::error_code ec;
        EXPECT_FALSE(wanted.try_acquire_for(wait, ec));
        EXPECT_LT(since.took(), wait + 200ms + slack);
        return ec;
    };
    this->server.pause();
    EXPECT_TRUE(takes(50ms) == condition::unknown);
    this->server.resume();
    this->server.stop();
    EXPECT_TRUE(takes(50ms));
}

TYPED_TEST(server_trouble, waiter_survives_an_outage_of_two_seconds) {
    lease held = this->lock.acquire({.ttl = 30s, .renew = false});
    auto waiter = waiter_for(this->others);
    ASSERT_TRUE(waits<TypeParam>(this->server, "job"));
    this->server.stop();
    EXPECT_FALSE(ready(waiter, 2s));
    this->server.start();
    const stopwatch since;
    // If the holder is not connected again by then, it repeats the release once it is.
    EXPECT_FALSE(held.release() == release_outcome::already_lost);
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_LT(since.took(), 3s + slack);  // pauses between attempts to connect, a poll gap
}

}  // namespace
}  // namespace holdfast::test
