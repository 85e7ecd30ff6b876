// A held lock that others remove, by force and by right: Redisson's forceUnlock, evict.
#include "server/scene.hpp"

#include <holdfast/async.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <atomic>

namespace holdfast::test {
namespace {

// As Redisson writes it (docs/wire/redisson-vectors.md).
constexpr const char* force_unlock =
    "if (redis.call('del', KEYS[1]) == 1) then redis.call(ARGV[2], KEYS[2], ARGV[1]); return 1 "
    "else return 0 end";

struct recursive_of_java : recursive {
    static std::string channel(const std::string& name) { return channel_of(name); }
};
struct fenced_of_java : recursive_of_java {
    static fenced_mutex make(client& c, const std::string& name) { return {c, name}; }
};
struct writer_of_java : writing {
    static std::string channel(const std::string& name) { return "redisson_rwlock:{" + name + "}"; }
};
struct names_of_java {
    template <class Kind>
    static std::string GetName(int) {
        if (std::is_same_v<Kind, fenced_of_java>) return "fenced_mutex";
        return std::is_same_v<Kind, writer_of_java> ? "shared_mutex" : "recursive_mutex";
    }
};

template <class Kind>
class removed_lock : public ::testing::Test {
  protected:
    using lock_type = std::remove_reference_t<decltype(Kind::make(std::declval<client&>(), ""))>;

    // A Java client takes the lock by force and holds it from now on.
    void java_takes_it() {
        EXPECT_EQ(
            server.command({"EVAL", force_unlock, "2", "job", Kind::channel("job"), "0", "PUBLISH"}).number,
            1);
        server.command(Kind::foreign_hold("job"));
        server.command({"PEXPIRE", "job", "600000"});
    }
    void java_releases_it() {
        server.command({"DEL", "job"});
        server.command({"PUBLISH", Kind::channel("job"), "0"});
    }

    redis_server server;
    client c{server.url()};
    lock_type lock = Kind::make(c, "job");
};
using kinds_of_java = ::testing::Types<recursive_of_java, fenced_of_java, writer_of_java>;
TYPED_TEST_SUITE(removed_lock, kinds_of_java, names_of_java);

TYPED_TEST(removed_lock, just_after_its_grant_is_not_handed_to_another_thread) {
    for (int round = 0; round < 10; ++round) {
        auto outer = this->lock.acquire();
        std::atomic<bool> taken{false};
        std::atomic<bool> second{false};
        // The first thread has a fresh grant, and the other waits behind it.
        const auto turn = [&] {
            lease held = this->lock.try_acquire_for(patience);
            EXPECT_TRUE(held.valid());
            if (taken.exchange(true)) {
                second = true;
                return;
            }
            this->java_takes_it();
            EXPECT_EQ(held.release(), release_outcome::already_lost);
        };
        std::vector<std::future<void>> turns;
        turns.push_back(in_background(turn));
        turns.push_back(in_background(turn));
        const auto until = boot_clock::now() + 5ms;
        (void)eventually(patience, [&] { return boot_clock::now() >= until; });
        outer.release();
        EXPECT_TRUE(eventually(patience, [&] { return ready(turns[0]) || ready(turns[1]); }));
        EXPECT_FALSE(eventually(20ms, [&] { return second.load(); })) << "while Java holds it";
        this->java_releases_it();
    }
}

TYPED_TEST(removed_lock, is_reported_to_a_task_that_releases_it_while_a_thread_waits) {
    boost::asio::thread_pool tasks{1};
    auto held = this->lock.acquire();
    std::atomic<bool> second_acquired{false};
    auto next = in_background([&] {
        const lease mine = this->lock.try_acquire_for(patience);
        second_acquired = true;
    });
    this->java_takes_it();
    const auto end =
        async_release(std::move(held), boost::asio::bind_executor(tasks, boost::asio::use_future)).get();
    EXPECT_EQ(end, release_outcome::already_lost);
    EXPECT_FALSE(eventually(20ms, [&] { return second_acquired.load(); })) << "while Java holds it";
    this->java_releases_it();
}

// A holder that has waited for the lock receives the messages to its waiters.
TYPED_TEST(removed_lock, is_reported_to_a_listening_holder_long_before_its_next_renewal) {
    client rare{settings(this->server.url(), 10min)};
    auto mine = TypeParam::make(rare, "job");
    auto before = this->lock.acquire();
    auto waiting = in_background([&] { return mine.try_acquire_for(patience); });
    EXPECT_TRUE(eventually(patience, [&] { return TypeParam::waiters(this->server, "job") > 0; }));
    before.release();
    const lease held = waiting.get();
    EXPECT_TRUE(held.valid());
    this->java_takes_it();
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(held.state(), lease_state::lost);
    this->java_releases_it();
}

TYPED_TEST(removed_lock, is_reported_to_a_thread_that_got_it_from_another_thread) {
    client rare{settings(this->server.url(), 10min)};
    auto mine = TypeParam::make(rare, "job");
    lease held;
    std::string first_owner;
    // A busy machine may be too late to hand it on.
    ASSERT_TRUE(eventually(patience, [&] {
        (void)held.release();
        auto before = this->lock.acquire();
        std::atomic<bool> taken{false};
        const auto turn = [&] {
            lease got = mine.try_acquire_for(patience);
            if (taken.exchange(true)) return got;
            first_owner = got.owner().str();
            return lease{};  // and the first lease is gone
        };
        auto one = in_background(turn);
        auto other = in_background(turn);
        EXPECT_TRUE(eventually(patience, [&] { return TypeParam::waiters(this->server, "job") > 0; }));
        before.release();
        lease got_by_one = one.get(), got_by_other = other.get();
        held = got_by_one ? std::move(got_by_one) : std::move(got_by_other);
        return held.owner().str() == first_owner;
    }));
    EXPECT_TRUE(held.valid());
    this->java_takes_it();
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    EXPECT_FALSE(held.valid());
    this->java_releases_it();
}

// Each release sends such a message too. It comes before the next grant, and causes no request.
TYPED_TEST(removed_lock, release_messages_cost_contending_clients_no_renewals) {
    client d{this->server.url()};
    auto others = TypeParam::make(d, "job");
    constexpr std::uint64_t rounds = 100;
    const auto turns = [](auto& of) {
        for (std::uint64_t i = 0; i < rounds; ++i) (void)of.acquire();
    };
    auto other_turns = in_background([&] { turns(others); });
    turns(this->lock);
    other_turns.get();
    EXPECT_LE(this->c.stats().renewals + d.stats().renewals, rounds / 10);
}

template <class Kind>
class evicted_by_its_own_client : public removed_lock<Kind> {};
TYPED_TEST_SUITE(evicted_by_its_own_client, kinds_of_java, names_of_java);

TYPED_TEST(evicted_by_its_own_client, is_over_when_evict_returns) {
    const auto held = this->lock.acquire();
    EXPECT_TRUE(evict(this->c, "job"));
    EXPECT_FALSE(held.valid());
    EXPECT_EQ(held.state(), lease_state::lost);
}

}  // namespace
}  // namespace holdfast::test
