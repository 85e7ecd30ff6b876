// What a survey finds in the servers after a round.
#include "chaos/runner/survey.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

namespace holdfast::chaos {
namespace {

using namespace std::chrono_literals;

class one_server : public topology {
  public:
    [[nodiscard]] std::string url() const override { return server.url(); }
    [[nodiscard]] std::vector<test::redis_server*> lock_servers() override { return {&server}; }

    test::redis_server server;
};

class survey : public ::testing::Test {
  protected:
    [[nodiscard]] std::vector<std::string> found() {
        return survey_locks(servers, locks_of("holdfast", "single"), 50ms);
    }
    void set(const std::string& key, const std::string& value) {
        servers.server.command({"SET", key, value});
    }
    void put(const std::string& key, const std::string& until, const std::string& member) {
        servers.server.command({"ZADD", key, until, member});
    }

    one_server servers;
    const std::string long_ago = "1000";
    const std::string never = "92233720368547758";
    using findings = std::vector<std::string>;
};

TEST_F(survey, accepts_permits_that_are_free_or_expired) {
    EXPECT_EQ(found(), findings{});
    set("semaphore0", "1");
    put("holdfast:p1:{semaphore0}", long_ago, "somebody|2");
    set("permits0", "1");
    put("{permits0}:timeout", long_ago, "0123456789abcdef");
    EXPECT_EQ(found(), findings{});
}

TEST_F(survey, finds_lost_and_surplus_permits) {
    set("semaphore0", "0");
    put("holdfast:p1:{semaphore0}", long_ago, "somebody|2");
    set("permits0", "3");
    EXPECT_EQ(found(),
              (findings{"\"semaphore0\" has 2 permits and not 3", "\"permits0\" has 3 permits and not 2"}));
}

TEST_F(survey, finds_held_locks_and_keys_that_never_expire) {
    set("semaphore0", "2");
    put("holdfast:p1:{semaphore0}", never, "somebody|1");
    set("mutex0", "somebody");
    EXPECT_EQ(found(),
              (findings{"the key \"mutex0\" would stay for ever", "the lock \"mutex0\" is still held",
                        "permits of \"holdfast:p1:{semaphore0}\" are still held"}));
}

}  // namespace
}  // namespace holdfast::chaos
