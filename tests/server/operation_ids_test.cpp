// Operations on a counter that are sent again: the server remembers the first send for longer than a resend
// can arrive.
#include "engine/retry_policy.hpp"
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

class resent_operation : public ::testing::Test {
  protected:
    // How much longer the server keeps the result of the only operation.
    milliseconds kept() {
        for (const auto& key : server.keys())
            if (key.starts_with("holdfast:o")) return pttl(server, key);
        return milliseconds{-2};
    }
    // The first reply is lost, and the connection with it.
    template <class Count>
    void expect_once(const redis_scripts::script& script, Count&& count, std::int64_t result) {
        net.drop_reply_of(runs(script));
        EXPECT_EQ(count(), result);
        EXPECT_GE(net.count_of(runs(script)), 2U);
        // Well beyond any resend, also where the server is slow.
        EXPECT_GT(kept(), patient.answer_timeout);
        EXPECT_LE(kept(), engine::retry_policy::remembered_for(patient.answer_timeout));
    }
    static config with_a_long_timeout(const std::string& url) {
        auto how = settings(url);
        how.answer_timeout = 45s;
        return how;
    }

    redis_server server;
    fault_proxy net{server};
    const config patient = with_a_long_timeout(net.url());
    client c{patient};
};

TEST_F(resent_operation, counts_a_latch_down_once) {
    latch countdown{c, "job"};
    server.command({"SET", "job", "3"});
    expect_once(
        redis_scripts::latch, [&] { return countdown.count_down(); }, 2);
    EXPECT_EQ(server.command({"GET", "job"}).text, "2");
}

TEST_F(resent_operation, adds_permits_once) {
    counting_semaphore permits{c, "job"};
    server.command({"SET", "job", "3"});
    expect_once(
        redis_scripts::semaphore, [&] { return permits.add_permits(2); }, 5);
    EXPECT_EQ(server.command({"GET", "job"}).text, "5");
}

// The server keeps the answer of an operation that found nothing to do: its first send may arrive when there
// is something to do.
class resent_operation_without_effect : public ::testing::Test {
  protected:
    using text = std::string;

    void latch(const text& verb, const text& amount) {
        words_ = {"EVAL",      text{redis_scripts::latch.text},
                  "2",         "job",
                  "operation", verb,
                  "channel",   amount,
                  "PUBLISH",   "60000"};
        EXPECT_EQ(server.command(words_).number, 0);
    }
    void permits(const text& verb, const text& amount) {
        words_ = {"EVAL",   text{redis_scripts::semaphore.text},
                  "3",      "job",
                  "owners", "operation",
                  verb,     "channel",
                  "0",      "PUBLISH",
                  "60000",  amount};
        EXPECT_EQ(server.command(words_).number, 0);
    }
    // The same operation arrives again after `meanwhile` and leaves the counter as it is.
    void changes_nothing_after(const std::vector<text>& meanwhile) {
        server.command(meanwhile);
        const auto before = server.command({"GET", "job"}).text;
        EXPECT_EQ(server.command(words_).number, 0);
        EXPECT_EQ(server.command({"GET", "job"}).text, before);
    }
    redis_server server;

  private:
    std::vector<text> words_;
};

TEST_F(resent_operation_without_effect, does_not_count_a_latch_down_later) {
    latch("down", "1");
    changes_nothing_after({"SET", "job", "1"});
}

TEST_F(resent_operation_without_effect, does_not_set_a_latch_later) {
    server.command({"SET", "job", "1"});
    latch("set", "5");
    changes_nothing_after({"DEL", "job"});
}

TEST_F(resent_operation_without_effect, does_not_drain_a_semaphore_later) {
    permits("drain", "0");
    changes_nothing_after({"SET", "job", "5"});
}

TEST_F(resent_operation_without_effect, does_not_set_a_semaphore_later) {
    server.command({"SET", "job", "1"});
    permits("set", "5");
    changes_nothing_after({"DEL", "job"});
}

}  // namespace
}  // namespace holdfast::test
