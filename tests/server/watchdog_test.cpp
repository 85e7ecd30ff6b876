// A lock is renewed while it is held, never longer, and nothing else is renewed (hazards 7, 8 and 70).
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

constexpr milliseconds watched_lease = 400ms * slower;

template <class Kind>
class watchdog : public ::testing::Test {
  protected:
    using lock_type = std::remove_reference_t<decltype(Kind::make(std::declval<client&>(), ""))>;

    static config watched(const std::string& url) {
        config c = settings(url, watched_lease);
        c.answer_timeout = 200ms * slower;
        return c;
    }
    bool renewed(std::uint64_t times) {
        const auto enough = c.stats().renewals + times;
        return eventually(patience, [&] { return c.stats().renewals >= enough; });
    }
    // Nothing of a foreign key under the name changes within `span`.
    void expect_untouched_for(milliseconds span) {
        const auto before = server.command({"DUMP", "job"});
        auto ttl = pttl(server, "job");
        const stopwatch since;
        (void)eventually(span, [&] {
            const auto now = pttl(server, "job");
            EXPECT_LE(now, ttl);
            ttl = now;
            return since.took() >= span;
        });
        EXPECT_EQ(server.command({"DUMP", "job"}), before);
    }

    redis_server server;
    fault_proxy net{server};
    client c{watched(net.url())};
    client d{server.url()};
    lock_type lock = Kind::make(c, "job");
    lock_type others = Kind::make(d, "job");
    event_recorder events{c};
};
TYPED_TEST_SUITE(watchdog, all_ways, kind_names);

TYPED_TEST(watchdog, renews_far_beyond_the_lease) {
    // Long: a machine that stalls for a moment must not end the lease.
    const auto ttl = 8 * watched_lease;
    lease held = this->lock.acquire({.ttl = ttl, .renew = true});
    const auto first_deadline = held.deadline();
    EXPECT_TRUE(eventually(patience, [&] { return boot_clock::now() > first_deadline + ttl / 2; }));
    EXPECT_TRUE(held.valid());
    EXPECT_FALSE(this->others.try_acquire());
    EXPECT_LE(pttl(this->server, "job"), ttl);
    EXPECT_EQ(held.release(), release_outcome::released);
}

TYPED_TEST(watchdog, does_not_renew_a_lease_with_its_own_ttl) {
    lease held = this->lock.acquire({.ttl = watched_lease});
    EXPECT_TRUE(this->events.has(event_kind::lost));
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(this->c.stats().renewals, 0U);
    EXPECT_TRUE(eventually(patience, [&] { return !exists(this->server, "job"); }));
}

TYPED_TEST(watchdog, goes_on_after_the_connection_was_cut) {
    // Long: on a busy machine it may take a while to reconnect.
    lease held = this->lock.acquire({.ttl = 10 * watched_lease, .renew = true});
    this->net.refuse_new(true);
    this->net.cut_all();
    EXPECT_TRUE(this->events.has(event_kind::store_down));
    EXPECT_FALSE(this->events.has(event_kind::jeopardy, watched_lease / 5));
    this->net.refuse_new(false);
    EXPECT_TRUE(this->renewed(2));
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.release(), release_outcome::released);
}

TYPED_TEST(watchdog, reports_jeopardy_and_its_end) {
    lease held = this->lock.acquire({.ttl = 10 * watched_lease, .renew = true});
    EXPECT_EQ(held.state(), lease_state::held);
    this->net.stall();
    EXPECT_TRUE(this->events.has(event_kind::jeopardy));
    EXPECT_EQ(held.state(), lease_state::jeopardy);
    EXPECT_TRUE(held.valid());
    this->net.resume();
    EXPECT_TRUE(this->events.has(event_kind::renewed));
    EXPECT_EQ(held.state(), lease_state::held);
    EXPECT_EQ(held.release(), release_outcome::released);
}

TYPED_TEST(watchdog, reports_the_loss_when_it_cannot_renew_at_all) {
    lease held = this->lock.acquire();
    this->net.stall();
    EXPECT_TRUE(this->events.has(event_kind::lost));
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(held.state(), lease_state::lost);
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    lease next = this->others.try_acquire_for(patience);
    EXPECT_TRUE(next.valid());
    // Requests sent before do not disturb the next owner when they arrive.
    this->net.resume();
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    EXPECT_TRUE(this->lock.try_acquire().state() == lease_state::empty);
    EXPECT_TRUE(next.valid());
    EXPECT_EQ(TypeParam::holder(this->server, "job"), next.owner().str());
}

TYPED_TEST(watchdog, ends_with_unlock) {
    const auto no_key_outlives = [&](const std::string& name) {
        // A renewal under way would restore or extend the key for a lease.
        const stopwatch since;
        while (since.took() < 2 * watched_lease) {
            EXPECT_FALSE(exists(this->server, name)) << name;
            if (exists(this->server, name)) return;
        }
    };
    // Released at any moment of the renewal's period, also while its answer is under way.
    this->net.delay(2ms);
    for (int i = 0; i < 60; ++i) {
        std::error_code ec;  // on a busy machine so short a lease may end before it arrives
        lease held = this->lock.acquire({.ttl = 60ms * slower, .renew = true}, ec);
        EXPECT_TRUE(!ec || ec == errc::lease_too_short) << ec.message();
        // About when the first renewal is due.
        const auto until = boot_clock::now() + 18ms * slower + std::chrono::microseconds{100 * i};
        (void)eventually(patience, [&] { return boot_clock::now() >= until; });
        held.release();
    }
    this->net.delay(0ms);
    EXPECT_TRUE(eventually(patience, [&] { return !exists(this->server, "job"); }));
    const auto renewals = this->net.count_of(TypeParam::renewal());
    no_key_outlives("job");
    EXPECT_EQ(this->net.count_of(TypeParam::renewal()), renewals);
}

TYPED_TEST(watchdog, does_not_start_for_a_cancelled_acquisition) {
    for (int i = 0; i < 40; ++i) {
        std::stop_source stop;
        auto waiter = in_background([&] {
            std::error_code ec;
            lease held =
                this->lock.acquire({.ttl = 5 * watched_lease, .renew = true, .stop = stop.get_token()}, ec);
            return held ? std::error_code{} : ec;
        });
        if (i % 2 == 0) {
            const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds{20 * i};
            (void)eventually(patience, [&] { return std::chrono::steady_clock::now() >= until; });
        }
        stop.request_stop();
        const auto why = waiter.get();
        EXPECT_TRUE(!why || why == errc::cancelled) << why.message();
    }
    // Waits for all that is still on its way. Well before the end of the lease: no key may be left to expire.
    EXPECT_TRUE(this->lock.acquire({.ttl = 5 * watched_lease, .renew = true}).release());
    EXPECT_TRUE(eventually(patience, [&] { return !exists(this->server, "job"); }));
    const auto renewals = this->net.count_of(TypeParam::renewal());
    const stopwatch since;
    while (since.took() < 2 * watched_lease) {
        if (exists(this->server, "job")) {
            ADD_FAILURE() << "a cancelled acquisition holds the lock";
            break;
        }
    }
    EXPECT_EQ(this->net.count_of(TypeParam::renewal()), renewals);
    EXPECT_EQ(this->c.stats().held_now, 0U);
}

TYPED_TEST(watchdog, reports_a_key_that_an_operator_deleted) {
    lease held = this->lock.acquire();
    const stopwatch since;
    this->server.command({"DEL", "job"});
    EXPECT_TRUE(this->events.has(event_kind::lost));
    EXPECT_LT(since.took(), watched_lease / 3 + slack);
    EXPECT_FALSE(held.valid());
    EXPECT_FALSE(exists(this->server, "job"));  // the renewal that found out did not create it again
}

TYPED_TEST(watchdog, does_not_extend_a_foreign_lease) {
    lease held = this->lock.acquire();
    const auto ttl = std::to_string((20 * watched_lease).count());
    if (TypeParam::reentrant) {
        this->server.command({"MULTI"});
        this->server.command({"DEL", "job"});
        this->server.command({"HSET", "job", "thief:1", "1"});
        this->server.command({"PEXPIRE", "job", ttl});
        this->server.command({"EXEC"});
    } else {
        this->server.command({"SET", "job", "thief", "PX", ttl});
    }
    this->expect_untouched_for(2 * watched_lease);
    EXPECT_TRUE(this->events.has(event_kind::lost));
    EXPECT_EQ(held.release(), release_outcome::already_lost);
    this->expect_untouched_for(50ms);
}

}  // namespace
}  // namespace holdfast::test
