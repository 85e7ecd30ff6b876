// A client with several connections for commands (redis_settings::connections).
#include "server/scene.hpp"

#include <array>
#include <atomic>

namespace holdfast::test {
namespace {

config with_three(const std::string& url) {
    config c = settings(url);
    c.redis.connections = 3;
    return c;
}

// More locks than connections, so that some share one and all are used.
constexpr int locks = 9;
std::string nth(int i) { return "job:" + std::to_string(i); }

template <class Kind>
class connections : public ::testing::Test {
  protected:
    using lock_type = std::remove_reference_t<decltype(Kind::make(std::declval<client&>(), ""))>;

    redis_server server;
    fault_proxy net{server};
    client c{with_three(net.url())};
    client d{with_three(net.url())};
};
TYPED_TEST_SUITE(connections, all_kinds, kind_names);

TYPED_TEST(connections, locks_exclude_each_other_and_are_counted) {
    std::array<int, locks> unguarded{};
    std::array<std::atomic<int>, locks> counted{};
    std::vector<std::future<void>> work;
    for (int t = 0; t < 8; ++t) {
        work.push_back(in_background([&, t] {
            for (int n = 0; n < 120 / slower; ++n) {
                const auto i = static_cast<std::size_t>((n + t) % locks);
                auto lock = TypeParam::make(t % 2 == 0 ? this->c : this->d, nth(static_cast<int>(i)));
                lock.lock();
                ++unguarded[i];
                lock.unlock();
                ++counted[i];
            }
        }));
    }
    for (auto& w : work) w.get();
    for (std::size_t i = 0; i < locks; ++i) {
        EXPECT_EQ(unguarded[i], counted[i].load());
        EXPECT_FALSE(exists(this->server, nth(static_cast<int>(i))));
    }
    EXPECT_EQ(this->c.stats().held_now + this->d.stats().held_now, 0U);
}

TYPED_TEST(connections, need_no_more_commands) {
    for (int i = 0; i < locks; ++i) EXPECT_TRUE(TypeParam::make(this->c, nth(i)).acquire().release());
    const auto sent_before = this->c.stats().commands_sent;
    // Not all commands that pass: the other client may still be connecting.
    const auto seen = [&] {
        return this->net.count_of(TypeParam::look()) + this->net.count_of(TypeParam::leave());
    };
    const auto seen_before = seen();
    for (int i = 0; i < locks; ++i) {
        auto lock = TypeParam::make(this->c, nth(i));
        lock.lock();
        lock.unlock();
    }
    EXPECT_EQ(this->c.stats().commands_sent - sent_before, 2U * locks);
    EXPECT_EQ(seen() - seen_before, 2U * locks);
}

TYPED_TEST(connections, can_all_be_cut_while_locks_are_held_and_waited_for) {
    event_recorder events{this->c};
    std::vector<lease> held;
    std::vector<std::future<bool>> waiting;
    for (int i = 0; i < locks; ++i) {
        held.push_back(TypeParam::make(this->c, nth(i)).acquire());
        waiting.push_back(in_background([this, i] {
            auto lock = TypeParam::make(this->d, nth(i));
            return lock.acquire().release() == release_outcome::released;
        }));
    }
    for (int i = 0; i < locks; ++i)
        ASSERT_TRUE(eventually(patience, [&] { return TypeParam::waiters(this->server, nth(i)) > 0; }));

    ASSERT_TRUE(events.has(event_kind::store_up));
    const auto ups = events.count(event_kind::store_up);
    this->net.cut_all();
    EXPECT_TRUE(events.has(event_kind::store_down));
    EXPECT_TRUE(eventually(patience, [&] { return events.count(event_kind::store_up) > ups; }));
    for (auto& h : held) EXPECT_TRUE(h.release());
    for (auto& w : waiting) EXPECT_TRUE(w.get());
    for (int i = 0; i < locks; ++i) EXPECT_FALSE(exists(this->server, nth(i)));
    EXPECT_EQ(this->c.stats().lost, 0U);
}

TYPED_TEST(connections, are_as_many_as_configured) {
    EXPECT_TRUE(TypeParam::make(this->c, "job").acquire().release());
    EXPECT_TRUE(eventually(patience, [&] { return this->net.count().open >= 6; }));
    EXPECT_LE(this->net.count().open, 8U);  // each client has one more for messages
}

// An abandoned attempt is undone after it was sent, never before: nothing is left of the locks.
TYPED_TEST(connections, keep_the_order_of_one_locks_commands) {
    std::vector<lease> held;
    for (int i = 0; i < locks; ++i) held.push_back(TypeParam::make(this->c, nth(i)).acquire());
    for (int n = 0; n < 60 / slower; ++n) {
        std::stop_source enough;
        auto other = TypeParam::make(this->d, nth(n % locks));
        auto waiting = in_background([&] {
            std::error_code ec;
            acquire_options how;
            how.stop = enough.get_token();
            (void)other.acquire(how, ec);
        });
        if (n % 2 == 0) std::this_thread::yield();
        enough.request_stop();
        waiting.get();
    }
    for (auto& h : held) EXPECT_TRUE(h.release());
    for (int i = 0; i < locks; ++i) {
        EXPECT_TRUE(eventually(patience, [&] { return !exists(this->server, nth(i)); }));
        EXPECT_EQ(queued(this->server, nth(i)), 0);
    }
}

TEST(connections_of_a_client, must_be_1_to_64) {
    for (const unsigned n : {0U, 65U}) {
        config bad;
        bad.redis.connections = n;
        try {
            const client c{bad};
            ADD_FAILURE() << n << " was accepted";
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::invalid_argument);
            EXPECT_NE(std::string{e.what()}.find("connections"), std::string::npos);
        }
    }
}

}  // namespace
}  // namespace holdfast::test
