// A key that holds something other than the lock (hazard 31).
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

struct content {
    const char* what;
    std::vector<std::string> write;
};

const std::vector<content> contents{
    {"list", {"RPUSH", "job", "a", "b"}},
    {"set", {"SADD", "job", "a", "b"}},
    {"zset", {"ZADD", "job", "1", "a"}},
    {"stream", {"XADD", "job", "1-1", "f", "v"}},
    {"string", {"SET", "job", "a token"}},
    {"user's hash", {"HSET", "job", "name", "bob", "city", "Ulm"}},
    {"user's hash with a mode", {"HSET", "job", "mode", "read", "path", "/x"}},
    {"user's hash with another mode", {"HSET", "job", "mode", "dark", "a", "b"}},
    {"hash", {"HSET", "job", "8743c9c0-0795-4907-87fd-6c719a6b4586:1", "1"}},
    {"read/write lock", {"HSET", "job", "mode", "read", "8743c9c0-0795-4907-87fd-6c719a6b4586:1", "1"}},
};

template <class Kind>
class wrong_key : public ::testing::Test {
  protected:
    // Whether the content is another client's lock of this kind.
    static bool right(const std::string& what) {
        if (std::is_same_v<Kind, writing>) return what == "read/write lock";
        return what == (Kind::reentrant ? "hash" : "string");
    }

    redis_server server;
    client c{server.url()};
    std::remove_reference_t<decltype(Kind::make(c, ""))> lock = Kind::make(c, "job");
};
TYPED_TEST_SUITE(wrong_key, all_kinds, kind_names);

TYPED_TEST(wrong_key, is_an_error_and_left_alone) {
    for (const auto& [what, write] : contents) {
        if (this->right(what)) continue;
        SCOPED_TRACE(what);
        this->server.command({"DEL", "job"});
        ASSERT_FALSE(this->server.command(write).is_error());
        const auto before = this->server.command({"DUMP", "job"});
        EXPECT_EQ(code_of([&] { (void)this->lock.try_lock(); }), errc::wrong_kind);
        EXPECT_EQ(code_of([&] { (void)this->lock.try_lock_for(5s); }), errc::wrong_kind);
        EXPECT_EQ(code_of([&] { this->lock.lock(); }), errc::wrong_kind);
        try {
            (void)this->lock.try_acquire();
        } catch (const error& e) {
            EXPECT_NE(std::string{e.what()}.find("job"), std::string::npos) << e.what();
            EXPECT_EQ(std::string{e.what()}.find("WRONGTYPE"), std::string::npos) << e.what();
        }
        EXPECT_EQ(this->server.command({"DUMP", "job"}), before);
        EXPECT_EQ(pttl(this->server, "job"), -1ms);
        EXPECT_EQ(this->server.keys(), std::vector<std::string>{"job"});
    }
}

TYPED_TEST(wrong_key, that_replaces_a_held_lock_is_left_alone) {
    for (const auto& [what, write] : contents) {
        SCOPED_TRACE(what);
        this->server.command({"DEL", "job"});
        lease held = this->lock.acquire();
        this->server.command({"DEL", "job"});
        ASSERT_FALSE(this->server.command(write).is_error());
        const auto before = this->server.command({"DUMP", "job"});
        EXPECT_NE(held.release(), release_outcome::released);
        EXPECT_EQ(this->server.command({"DUMP", "job"}), before);
    }
}

TYPED_TEST(wrong_key, of_the_queue_is_an_error_and_left_alone) {
    if constexpr (!TypeParam::reentrant) {
        this->server.command({"RPUSH", queue_of("job"), "a"});
        client other{this->server.url()};
        auto first = TypeParam::make(other, "job");
        ASSERT_TRUE(first.try_lock());
        const std::lock_guard hold{first, std::adopt_lock};
        EXPECT_EQ(code_of([&] { (void)this->lock.try_lock_for(5s); }), errc::wrong_kind);
        EXPECT_EQ(this->server.command({"LLEN", queue_of("job")}).number, 1);
    }
}

}  // namespace
}  // namespace holdfast::test
