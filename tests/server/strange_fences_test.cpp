// A fence counter that holds something else, or that the user may not write: the lock does not stay held
// without a holder.
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

struct own_counter : fenced {
    static std::string counter(const std::string& name) { return "holdfast:f1:{" + name + "}"; }
};
struct redissons_counter {
    static fenced_mutex make(client& c, const std::string& name) { return {c, name}; }
    static std::string counter(const std::string& name) { return "redisson_lock_token:{" + name + "}"; }
};

template <class Kind>
class fence_counter : public ::testing::Test {
  protected:
    std::string url_of(const std::string& user) {
        return "redis://" + user + ":pw@127.0.0.1:" + std::to_string(server.port());
    }
    redis_server server{
        {.users = {"timeless on >pw ~* &* +@all -time", "reading on >pw ~job %R~*{job}* &* +@all",
                   "uncounting on >pw ~* &* +@all -incrby", "eternal on >pw ~* &* +@all -pexpire"}}};
    client c{server.url()};
    const std::string counter = Kind::counter("job");
};
using counters = ::testing::Types<own_counter, redissons_counter>;
struct counter_names {
    template <class Kind>
    static std::string GetName(int) {
        return std::is_same_v<Kind, own_counter> ? "mutex" : "fenced_mutex";
    }
};
TYPED_TEST_SUITE(fence_counter, counters, counter_names);

TYPED_TEST(fence_counter, with_an_unusable_value_is_named_and_left_alone) {
    auto lock = TypeParam::make(this->c, "job");
    std::vector<std::vector<std::string>> contents{{"RPUSH", this->counter, "a"},
                                                   {"HSET", this->counter, "f", "1"}};
    for (const auto* text : {"9007199254740992", "9007199254740993", "1000000000000000000", "1e18", "1e300",
                             "abc", "", "-1", "1.5", "nan", "inf", "0x10", " 1"})
        contents.push_back({"SET", this->counter, text});
    for (const auto& write : contents) {
        SCOPED_TRACE(write.at(0) + " " + write.back());
        this->server.command({"DEL", this->counter});
        ASSERT_FALSE(this->server.command(write).is_error());
        const auto before = this->server.command({"DUMP", this->counter});
        try {
            (void)lock.try_acquire();
            ADD_FAILURE() << "locked";
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::wrong_kind) << e.what();
            EXPECT_NE(std::string{e.what()}.find(this->counter), std::string::npos) << e.what();
            EXPECT_NE(std::string{e.what()}.find("whole number below 2^53"), std::string::npos) << e.what();
        }
        EXPECT_EQ(code_of([&] { (void)lock.try_acquire_for(patience); }), errc::wrong_kind);
        EXPECT_EQ(this->server.keys(), std::vector<std::string>{this->counter});
        EXPECT_EQ(this->server.command({"DUMP", this->counter}), before);
    }
}

TYPED_TEST(fence_counter, near_its_limit_gives_growing_fences_until_it_is_refused) {
    this->server.command({"SET", this->counter, "9007199254740900"});
    auto lock = TypeParam::make(this->c, "job");
    auto last = fence::none;
    for (int grants = 0; grants < 200; ++grants) {
        std::error_code ec;
        lease held = lock.try_acquire(ec);
        if (ec) {
            EXPECT_EQ(ec, errc::wrong_kind);
            EXPECT_GE(grants, 2);
            EXPECT_FALSE(exists(this->server, "job"));
            return;
        }
        EXPECT_GT(held.fence(), last);
        last = held.fence();
        EXPECT_TRUE(held.release());
    }
    ADD_FAILURE() << "it goes on beyond 2^53";
}

TYPED_TEST(fence_counter, with_a_user_of_partial_rights_leaves_the_lock_free) {
    for (const auto* user : {"timeless", "reading", "uncounting", "eternal"}) {
        SCOPED_TRACE(user);
        client limited{this->url_of(user)};
        auto lock = TypeParam::make(limited, "job");
        std::error_code ec;
        lease held = lock.try_acquire(ec);
        if (held) {
            (void)held.release();
        } else {
            EXPECT_EQ(ec, errc::no_permission);
        }
        EXPECT_FALSE(exists(this->server, "job"));
    }
}

// The counter breaks while a client waits: the client gives up its place in the queue and what it was handed.
TYPED_TEST(fence_counter, that_breaks_during_a_wait_ends_the_wait_and_leaves_the_lock_free) {
    client d{this->server.url()};
    auto lock = TypeParam::make(this->c, "job");
    auto others = TypeParam::make(d, "job");
    lease held = lock.acquire();
    auto waiter = in_background([&] { return code_of([&] { (void)others.try_acquire_for(patience); }); });
    ASSERT_TRUE(eventually(patience, [&] {
        return queued(this->server, "job") == 1 ||
               this->server.command({"PUBSUB", "NUMSUB", channel_of("job")}).items.at(1).number == 1;
    }));
    this->server.command({"SET", this->counter, "abc"});
    EXPECT_TRUE(held.release());
    EXPECT_EQ(waiter.get(), errc::wrong_kind);
    EXPECT_TRUE(eventually(patience, [&] { return this->server.keys() == std::vector{this->counter}; }));
}

// Counts of semaphores and latches have the same bounds, and a value that is no count is not overwritten.
TEST(counter_value, that_lua_cannot_hold_is_refused_and_left_alone) {
    redis_server server;
    client c{server.url()};
    counting_semaphore permits{c, "job"};
    permit_semaphore expiring{c, "job"};
    latch countdown{c, "job"};
    for (const auto* text : {"9007199254740993", "99999999999999999", "1000000000000000000", "1e18", "abc",
                             "", "1.5", "nan", "0x10"}) {
        SCOPED_TRACE(text);
        server.command({"SET", "job", text});
        EXPECT_EQ(code_of([&] { (void)permits.available_permits(); }), errc::wrong_kind);
        EXPECT_EQ(code_of([&] { (void)permits.try_acquire(); }), errc::wrong_kind);
        EXPECT_EQ(code_of([&] { (void)permits.add_permits(1); }), errc::wrong_kind);
        EXPECT_EQ(code_of([&] { (void)expiring.try_acquire(); }), errc::wrong_kind);
        EXPECT_EQ(code_of([&] { (void)countdown.count(); }), errc::wrong_kind);
        EXPECT_EQ(code_of([&] { (void)countdown.count_down(); }), errc::wrong_kind);
        EXPECT_EQ(code_of([&] { (void)countdown.try_set_count(1); }), errc::wrong_kind);
        EXPECT_EQ(server.command({"GET", "job"}).text, text);
        EXPECT_EQ(server.keys(), std::vector<std::string>{"job"});
    }
    server.command({"SET", "job", "9007199254740992"});
    EXPECT_EQ(permits.available_permits(), std::int64_t{1} << 53);
    EXPECT_EQ(code_of([&] { (void)permits.add_permits(1); }), errc::invalid_argument);
    EXPECT_EQ(server.command({"GET", "job"}).text, "9007199254740992");
}

}  // namespace
}  // namespace holdfast::test
