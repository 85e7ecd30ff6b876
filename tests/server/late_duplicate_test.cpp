// The server carries out a request after the client has given it up (hazard 12).
#include "server/scene.hpp"

namespace holdfast::test {
namespace {

template <class Kind>
class late_duplicate : public ::testing::Test {
  protected:
    void SetUp() override { ASSERT_TRUE(used_once(lock)); }

    static config impatient(const std::string& url) {
        config c = settings(url);
        c.answer_timeout = 200ms;
        return c;
    }
    // How often the lock was written; only a granted request writes it.
    std::int64_t grants() {
        const std::string field = Kind::reentrant ? "cmdstat_hset:calls=" : "cmdstat_set:calls=";
        const auto info = server.command({"INFO", "commandstats"}).text;
        const auto at = info.find(field);
        return at == std::string::npos ? 0 : std::stoll(info.substr(at + field.size()));
    }
    // The late grant has a lease of 30 s and is undone long before its end.
    void expect_late_grant_undone(std::int64_t grants_before) {
        EXPECT_TRUE(eventually(patience, [&] { return grants() > grants_before; }))
            << "the late request never came";
        const stopwatch since;
        EXPECT_TRUE(eventually(patience, [&] { return !exists(server, "job"); }));
        EXPECT_LT(since.took(), 3s + slack);
        EXPECT_TRUE(others.try_acquire_for(patience).valid());
    }

    redis_server server;
    client hasty{impatient(server.url())};
    client hasty_and_cut_off{impatient(server.url() + "?command_timeout=300ms")};
    client calm{server.url()};
    std::remove_reference_t<decltype(Kind::make(hasty, ""))> lock = Kind::make(hasty, "job");
    std::remove_reference_t<decltype(Kind::make(hasty, ""))> lock_cut_off =
        Kind::make(hasty_and_cut_off, "job");
    std::remove_reference_t<decltype(Kind::make(calm, ""))> others = Kind::make(calm, "job");
};
TYPED_TEST_SUITE(late_duplicate, all_ways, kind_names);

TYPED_TEST(late_duplicate, unanswered_try_is_undone) {
    const auto before = this->grants();
    this->server.pause();
    const stopwatch asked;
    EXPECT_EQ(code_of([&] { (void)this->lock.try_lock(); }), condition::unknown);
    EXPECT_LT(asked.took(), 200ms + slack);
    this->server.resume();
    this->expect_late_grant_undone(before);
}

TYPED_TEST(late_duplicate, try_over_an_abandoned_connection_is_undone) {
    ASSERT_TRUE(used_once(this->lock_cut_off));
    event_recorder events{this->hasty_and_cut_off};
    const auto before = this->grants();
    this->server.pause();
    EXPECT_EQ(code_of([&] { (void)this->lock_cut_off.try_lock(); }), condition::unknown);
    EXPECT_TRUE(events.has(event_kind::store_down));
    this->server.resume();
    this->expect_late_grant_undone(before);
}

TYPED_TEST(late_duplicate, cancelled_acquire_is_undone) {
    const auto before = this->grants();
    const auto sent = this->hasty.stats().commands_sent;
    this->server.pause();
    std::stop_source stop;
    auto waiter =
        in_background([&] { return code_of([&] { (void)this->lock.acquire({.stop = stop.get_token()}); }); });
    ASSERT_TRUE(eventually(patience, [&] { return this->hasty.stats().commands_sent > sent; }));
    stop.request_stop();
    EXPECT_EQ(waiter.get(), errc::cancelled);
    this->server.resume();
    this->expect_late_grant_undone(before);
}

// The client answers NOSCRIPT with the whole script, which follows everything sent since.
TYPED_TEST(late_duplicate, cancelled_acquire_with_an_unknown_script_is_undone) {
    lease held = this->others.acquire();
    std::stop_source stop;
    fault_proxy net{this->server};
    client behind_it{net.url()};
    auto slow = TypeParam::make(behind_it, "job");
    this->server.command({"SCRIPT", "FLUSH"});
    net.hold_reply_of(TypeParam::bid());
    auto waiter =
        in_background([&] { return code_of([&] { (void)slow.acquire({.stop = stop.get_token()}); }); });
    ASSERT_TRUE(eventually(patience, [&] { return net.count().replies_held == 1; }));
    stop.request_stop();
    EXPECT_EQ(waiter.get(), errc::cancelled);
    EXPECT_TRUE(held.release());
    const auto before = this->grants();
    net.release_replies();
    this->expect_late_grant_undone(before);
}

}  // namespace
}  // namespace holdfast::test
