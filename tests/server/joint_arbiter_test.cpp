// The arbiters of a store made of stores: what their outage and their return do to its locks.
#include "base/text.hpp"
#include "server/scene.hpp"
#include "server/sql_scene.hpp"
#include "support/wire.hpp"
#include "support/zookeeper_server.hpp"

#include <holdfast/admin.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

class arbiter {
  public:
    arbiter() = default;
    arbiter(const arbiter&) = delete;
    arbiter& operator=(const arbiter&) = delete;
    virtual ~arbiter() = default;
    [[nodiscard]] virtual std::string url() const = 0;
    [[nodiscard]] virtual std::uint16_t port() const = 0;
    virtual void pause() = 0;
    virtual void resume() = 0;
};

class sql_arbiter final : public arbiter {
  public:
    explicit sql_arbiter(sql_kind kind) : server_(start_sql_server(kind)) {}
    [[nodiscard]] std::string url() const override { return server_->url(); }
    [[nodiscard]] std::uint16_t port() const override { return server_->port(); }
    void pause() override { server_->pause(); }
    void resume() override { server_->resume(); }

  private:
    const std::unique_ptr<sql_server> server_;
};

class zookeeper_arbiter final : public arbiter {
  public:
    [[nodiscard]] std::string url() const override { return servers_.url(); }
    [[nodiscard]] std::uint16_t port() const override { return servers_.port(); }
    void pause() override { servers_.pause(); }
    void resume() override { servers_.resume(); }

  private:
    zookeeper_servers servers_;
};

struct arbiter_row {
    std::string name;
    std::function<std::unique_ptr<arbiter>()> start;
    friend void PrintTo(const arbiter_row& r, std::ostream* out) { *out << r.name; }
};

const std::vector<arbiter_row>& arbiters() {
    static const std::vector<arbiter_row> all{
#ifdef HOLDFAST_HAS_POSTGRES
        {"postgres", [] { return std::make_unique<sql_arbiter>(sql_kind::postgres); }},
#endif
#ifdef HOLDFAST_HAS_MARIADB
        {"mariadb", [] { return std::make_unique<sql_arbiter>(sql_kind::mariadb); }},
#endif
        {"zookeeper", [] { return std::make_unique<zookeeper_arbiter>(); }}};
    return all;
}

// Cuts the connection at the first answer after a text was sent, instead of passing it; once. MariaDB
// receives the text in hexadecimal.
class loses_answer_to final : public wire::tap {
  public:
    loses_answer_to(std::string text, std::atomic<int>& lost) : text_(std::move(text)), lost_(lost) {}

    void from_client(std::string_view bytes) override {
        sent_ += bytes;
        for (const auto& form : {text_, base::to_hex(text_)})
            sent_text_ = sent_text_ || sent_.find(form) != std::string::npos;
    }
    bool from_server(std::string_view bytes, std::string& pass) override {
        if (sent_text_ && lost_.exchange(1) == 0) return false;
        pass += bytes;
        return true;
    }

  private:
    const std::string text_;
    std::atomic<int>& lost_;
    std::string sent_;
    bool sent_text_ = false;
};

class joint_arbiter : public ::testing::TestWithParam<arbiter_row> {
  protected:
    static constexpr auto mode_lease = 1s * slower;
    static constexpr auto ttl = 60s;

    [[nodiscard]] config joined() const { return joined_by(chosen->url()); }
    [[nodiscard]] config joined_by(const std::string& arbiter_url) const {
        const auto level = [&](const char* which) { return ",sqlite:" + (folder.path() / which).string(); };
        auto c = settings("joint:arbiter=" + arbiter_url + ",mode_lease=" + std::to_string(mode_lease / 1ms) +
                              "ms" + level("first") + level("second"),
                          ttl);
        c.answer_timeout = 500ms * slower;
        return c;
    }

    // The arbiter behind a wire, for one client.
    [[nodiscard]] config joined_over(const wire& to_arbiter) const {
        auto url = chosen->url();
        const auto port = ':' + std::to_string(chosen->port());
        url.replace(url.find(port), port.size(), ':' + std::to_string(to_arbiter.port()));
        return joined_by(url);
    }

    const std::unique_ptr<arbiter> chosen = GetParam().start();
    const temp_dir folder;
    client a{joined()};
};

INSTANTIATE_TEST_SUITE_P(, joint_arbiter, ::testing::ValuesIn(arbiters()),
                         [](const auto& one) { return one.param.name; });

TEST_P(joint_arbiter, outage_ends_leases_with_the_mode_lease) {
    event_recorder events{a};
    const auto held = mutex(a, "stock").acquire();
    EXPECT_LT(held.remaining(), mode_lease);
    chosen->pause();
    EXPECT_TRUE(events.has(event_kind::source_down));
    EXPECT_TRUE(events.has(event_kind::lost));
    EXPECT_FALSE(held.valid());
    std::error_code ec;
    EXPECT_FALSE(mutex(a, "other").try_acquire(ec));
    EXPECT_EQ(ec, errc::unavailable);
    chosen->resume();
    EXPECT_TRUE(mutex(a, "other").try_acquire_for(patience));
    EXPECT_TRUE(events.has(event_kind::source_up));
    EXPECT_FALSE(held.valid()) << "what has ended does not come back";
}

TEST_P(joint_arbiter, short_outage_ends_nothing) {
    const auto held = mutex(a, "stock").acquire();
    const auto until = held.deadline();
    ASSERT_TRUE(eventually(patience, [&] { return held.deadline() > until; }));
    chosen->pause();
    chosen->resume();
    const auto then = held.deadline();
    ASSERT_TRUE(eventually(patience, [&] { return held.deadline() > then; }));
    EXPECT_TRUE(held.valid());
}

// Locks need both levels until the arbiter answers again; the operator who waits for the second step makes it
// then.
TEST_P(joint_arbiter, outage_between_two_modes_ends_leases_and_only_delays_the_change) {
    constexpr auto short_ttl = 2s * slower;
    client b{joined()};
    client operator_{joined()};
    (void)mutex(b, "warm").try_acquire_for(patience);
    auto held = mutex(a, "stock").try_acquire_for(patience, {.ttl = short_ttl, .renew = true});
    ASSERT_TRUE(held);
    event_recorder events{a};
    std::mutex one_at_a_time;  // nobody looks at a lease while it is released
    struct served {
        lease got;
        bool beside_the_holder;
    };
    // An outage ends an attempt.
    const auto acquired = [&] {
        lease got;
        EXPECT_TRUE(eventually(patience, [&] {
            std::error_code ec;
            got = mutex(b, "stock").try_acquire_for(patience, ec);
            return bool{got};
        }));
        return got;
    };
    auto waiter = in_background([&] {
        auto got = acquired();
        const std::lock_guard hold{one_at_a_time};
        const bool both = held.valid() && got.valid();  // in this order: then both were valid at once
        return served{std::move(got), both};
    });

    auto change = in_background([&] { return admin::switch_mode(operator_, 1, {.reason = "upgrade"}); });
    ASSERT_TRUE(eventually(patience, [&] { return admin::mode(a).needed.size() == 2; }));
    const auto between = admin::mode(a);
    const auto until = held.deadline();
    ASSERT_TRUE(eventually(patience, [&] { return held.deadline() > until; })) << "it has both levels";
    chosen->pause();
    const stopwatch since;
    EXPECT_TRUE(events.has(event_kind::lost));
    EXPECT_LT(since.took(), mode_lease + slack);
    EXPECT_TRUE(events.has(event_kind::source_down));
    EXPECT_FALSE(held.valid());
    std::error_code ec;
    // Unknown, if the mode lease ended while a level was asked.
    const auto fails = [](std::error_code code) {
        return code == errc::unavailable || code == errc::unknown_outcome;
    };
    EXPECT_FALSE(mutex(a, "other").try_acquire(ec));
    EXPECT_TRUE(fails(ec)) << ec.message();
    EXPECT_FALSE(ready(change, between.must_last)) << "its second step is due, and has no answer";
    EXPECT_FALSE(mutex(b, "other").try_acquire(ec));
    EXPECT_TRUE(fails(ec)) << ec.message();

    chosen->resume();
    ASSERT_TRUE(ready(change, patience));
    const auto mode = change.get();
    EXPECT_TRUE(mode.uses_only(1));
    EXPECT_EQ(mode.epoch, between.epoch + 1) << "one step was left, and it is made once";
    ASSERT_TRUE(ready(waiter, patience));
    auto then = waiter.get();
    EXPECT_FALSE(then.beside_the_holder);
    // Its client's mode lease may have lasted longer than the holder's: then it was served, and lost the
    // lock.
    if (!then.got.valid()) then.got = acquired();
    EXPECT_TRUE(then.got.valid());
    EXPECT_FALSE(held.valid()) << "what has ended does not come back";
    EXPECT_TRUE(events.has(event_kind::source_up));
    EXPECT_FALSE(mutex(a, "stock").try_acquire());
}

// The operator does not know whether the first step was made, reads the mode, and goes on.
TEST_P(joint_arbiter, change_whose_answer_is_lost_is_made_once) {
    std::atomic<int> lost{0};
    wire to_arbiter{chosen->port(), wire::memory::none,
                    [&] { return std::make_unique<loses_answer_to>("epoch 2", lost); }};
    client operator_{joined_over(to_arbiter)};
    ASSERT_TRUE(eventually(
        patience, [&] { return code_of([&] { (void)admin::mode(operator_); }) == std::error_code{}; }));
    const auto held = mutex(a, "stock").acquire();
    (void)admin::switch_mode(operator_, 1, {.by = "li", .reason = "upgrade"});
    EXPECT_EQ(lost, 1);
    const auto mode = admin::mode(a);
    EXPECT_TRUE(mode.uses_only(1));
    EXPECT_EQ(mode.epoch, 3U);
    EXPECT_EQ(mode.history.size(), 2U);
    EXPECT_TRUE(held.valid());
}

// What a client knows of the mode may be old while it is cut off from its arbiter, but no older than the mode
// lease.
TEST_P(joint_arbiter, changes_the_mode_and_all_clients_follow) {
    client b{joined()};
    event_recorder of_b{b};
    (void)mutex(b, "warm").try_acquire_for(patience);
    const auto held = mutex(a, "stock").try_acquire_for(patience);
    ASSERT_TRUE(held);
    (void)admin::switch_mode(a, 1, {.by = "li", .reason = "upgrade"});
    const auto seen = of_b.next(event_kind::switched);
    ASSERT_TRUE(seen);
    EXPECT_NE(seen->detail.find("says li: upgrade"), std::string::npos) << seen->detail;
    EXPECT_FALSE(mutex(b, "stock").try_acquire());
    EXPECT_TRUE(held.valid());
    EXPECT_TRUE(admin::mode(b).uses_only(1));
    const auto history = admin::mode(b).history;
    ASSERT_EQ(history.size(), 2U);
    EXPECT_EQ(history.back().author.by, "li");
    EXPECT_EQ(history.back().author.reason, "upgrade");
}

}  // namespace
}  // namespace holdfast::test
