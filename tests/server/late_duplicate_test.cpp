// A request that was given up and is carried out all the same, later (hazard 12).
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
    // How often the lock was written: what a granted request does.
    std::int64_t grants() {
        const std::string field = Kind::reentrant ? "cmdstat_hset:calls=" : "cmdstat_set:calls=";
        const auto info = server.command({"INFO", "commandstats"}).text;
        const auto at = info.find(field);
        return at == std::string::npos ? 0 : std::stoll(info.substr(at + field.size()));
    }
    // The ghost of a lease of 30 s is gone long before that.
    void expect_ghost_undone(std::int64_t grants_before) {
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

TYPED_TEST(late_duplicate, of_a_try_without_answer_is_undone) {
    const auto before = this->grants();
    this->server.pause();
    const stopwatch asked;
    EXPECT_EQ(code_of([&] { (void)this->lock.try_lock(); }), condition::unknown);
    EXPECT_LT(asked.took(), 200ms + slack);
    this->server.resume();
    this->expect_ghost_undone(before);
}

TYPED_TEST(late_duplicate, over_a_connection_that_was_given_up_is_undone) {
    ASSERT_TRUE(used_once(this->lock_cut_off));
    diary events{this->hasty_and_cut_off};
    const auto before = this->grants();
    this->server.pause();
    EXPECT_EQ(code_of([&] { (void)this->lock_cut_off.try_lock(); }), condition::unknown);
    EXPECT_TRUE(events.has(event_kind::store_down));
    this->server.resume();
    this->expect_ghost_undone(before);
}

TYPED_TEST(late_duplicate, of_a_cancelled_acquire_is_undone) {
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
    this->expect_ghost_undone(before);
}

// NOSCRIPT is answered with the whole script, which goes behind everything that was sent since.
TYPED_TEST(late_duplicate, of_a_cancelled_acquire_whose_script_was_not_known_is_undone) {
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
    this->expect_ghost_undone(before);
}

}  // namespace
}  // namespace holdfast::test
