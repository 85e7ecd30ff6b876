// A change of a lock's record in a table: which statements it takes, and what it relies on.
#if defined(HOLDFAST_HAS_POSTGRES) || defined(HOLDFAST_HAS_MARIADB)

#include "backends/common/fence_clock.hpp"
#include "backends/sql/change.hpp"
#include "backends/sql/quarantine.hpp"
#include "base/clock.hpp"
#include "support/eventually.hpp"
#include "unit/backends/sql_table.hpp"

#include <gtest/gtest.h>

#include <future>
#include <map>
#include <string>
#include <vector>

namespace holdfast::sql_backend {
namespace {

using namespace std::chrono_literals;
using test::patience;

class changes : public ::testing::Test {
  protected:
    changes() {
        words.load.sql = "load";
        words.insert.sql = "insert";
        words.save.sql = "save";
        words.save_at.sql = "save_at";
        words.list_of_numbers = [](const std::vector<std::int64_t>&) { return std::string{}; };
    }
    template <class Request>
    auto ask(const Request& r) {
        using answer = decltype(engine::apply(std::declval<engine::lock_record&>(), r,
                                              std::declval<const engine::circumstances&>())
                                    .answer);
        auto given = std::make_shared<std::optional<answer>>();
        auto over = std::make_shared<std::promise<void>>();
        database.asked.clear();
        change_record(tools, stock, boot_clock::now() + patience,
                      {[r, given](engine::lock_record& record, const engine::circumstances& c) {
                           auto done = engine::apply(record, r, c);
                           *given = std::move(done.answer);
                           return effect{std::move(done.notify)};
                       },
                       [over](const fault*, const effect&) { over->set_value(); }});
        over->get_future().wait();
        return **given;
    }
    fence acquired(const char* owner) {
        const auto a = ask(backend::attempt_request{{kind::native_fenced, stock}, owner_id{owner}, 30s});
        const auto* const yes = std::get_if<backend::granted>(&a);
        return yes == nullptr ? fence::none : yes->fence;
    }
    bool released(const char* owner) {
        return std::holds_alternative<backend::released>(
            ask(backend::release_request{{kind::native_fenced, stock}, owner_id{owner}}));
    }
    // Until the client knows that nobody else uses the lock.
    void use_it_twice() {
        for (const char* const owner : {"c|1", "c|2"}) {
            ASSERT_NE(acquired(owner), fence::none);
            ASSERT_TRUE(released(owner));
        }
    }

    const lock_name stock{"stock"};
    io::reactor reactor;
    table_of_locks database{reactor};
    dialect words{};
    backends::owner_serials serials;
    knowledge known{versions{42}};
    const change_tools tools{database, words, reactor, serials,
                             known,    10s,   "c",     [](kind, const owner_id&) { return true; }};
};

using statements = std::vector<std::string>;

TEST_F(changes, of_a_lock_that_only_this_client_uses_take_one_statement) {
    EXPECT_NE(acquired("c|1"), fence::none);
    EXPECT_EQ(database.asked, (statements{"load", "insert"}));
    EXPECT_TRUE(released("c|1"));
    EXPECT_EQ(database.asked, (statements{"load", "save"})) << "somebody else may use it, too";
    EXPECT_NE(acquired("c|2"), fence::none);
    EXPECT_EQ(database.asked, statements{"save_at"});
    EXPECT_TRUE(released("c|2"));
    EXPECT_EQ(database.asked, statements{"save_at"});
}

TEST_F(changes, of_a_lock_that_another_client_has_changed_are_made_to_what_is_there) {
    use_it_twice();
    auto other = *engine::from_bytes(database.all["stock"].record);
    (void)engine::apply(other, backend::attempt_request{{kind::native_fenced, stock}, owner_id{"d|1"}, 30s},
                        {.now = engine::store_time{std::chrono::microseconds{base::wall_microseconds()}},
                         .next_fence = fence{1}});
    database.all["stock"] = {engine::to_bytes(other), 7};
    EXPECT_EQ(acquired("c|3"), fence::none);
    EXPECT_EQ(database.asked, (statements{"save_at", "load"}));
    // A lock that others use is read first.
    EXPECT_EQ(acquired("c|4"), fence::none);
    EXPECT_EQ(database.asked, statements{"load"});
}

TEST_F(changes, to_a_row_that_was_deleted_begin_anew) {
    use_it_twice();
    database.all.clear();
    EXPECT_NE(acquired("c|3"), fence::none);
    EXPECT_EQ(database.asked, (statements{"save_at", "load", "insert"}));
}

TEST_F(changes, follow_the_clock_of_the_database) {
    use_it_twice();
    for (const auto by : {-1h, 1h}) {
        database.ahead += by;
        EXPECT_NE(acquired("c|3"), fence::none);
        EXPECT_EQ(database.asked, (statements{"save_at", "load", "save"}));
        const auto record = *engine::from_bytes(database.all["stock"].record);
        ASSERT_EQ(record.holders.size(), 1U);
        const auto now = std::chrono::microseconds{base::wall_microseconds()} + database.ahead;
        EXPECT_GT(record.holders[0].expires, engine::store_time{now + 20s});
        EXPECT_LT(record.holders[0].expires, engine::store_time{now + 31s});
        EXPECT_TRUE(released("c|3"));
    }
}

TEST_F(changes, give_no_fence_that_is_ahead_of_the_database) {
    use_it_twice();
    const auto mine = acquired("c|3");
    EXPECT_EQ(database.asked, statements{"save_at"});
    // The row is deleted, and another client is granted the lock at once.
    const auto microseconds = base::wall_microseconds();
    EXPECT_GT(backends::next_fence(0, fences_per_grant, microseconds), to_number(mine));
}

// The holder may go on until it learns that it has lost the lock; the record must not end before that.
TEST_F(changes, give_no_lease_that_ends_early) {
    use_it_twice();
    const auto sent = base::wall_microseconds();
    ASSERT_NE(acquired("c|3"), fence::none);
    ASSERT_EQ(database.asked, statements{"save_at"});
    const auto record = *engine::from_bytes(database.all["stock"].record);
    EXPECT_GE(record.holders.at(0).expires, engine::store_time{std::chrono::microseconds{sent} + 30s});
}

TEST(sql_versions, do_not_return) {
    versions mine{1};
    versions others{2};
    std::map<std::int64_t, int> seen;
    for (int i = 0; i < 1'000; ++i) {
        ++seen[mine.next()];
        ++seen[others.next()];
    }
    EXPECT_EQ(seen.size(), 2'000U);
    EXPECT_GT(seen.begin()->first, 0);
}

TEST(sql_quarantine, begins_with_each_new_mark_and_counts_the_age_of_the_first) {
    const auto now = boot_clock::now();
    quarantine one{60s};
    EXPECT_FALSE(one.refuse_request(30s, now)) << "no server is known yet";
    EXPECT_EQ(one.refuse_request(61s, now)->code, errc::invalid_argument);
    one.on_session("db:5432", "first", 3600s, now);
    EXPECT_FALSE(one.refuse_answer(now));
    one.on_session("db:5432", "first", 0s, now + 1s);
    EXPECT_FALSE(one.refuse_answer(now + 1s)) << "another connection to the same run";
    one.on_session("db:5432", "second", 3600s, now + 2s);
    const auto no = one.refuse_answer(now + 2s);
    ASSERT_TRUE(no) << "it has come in place of one that was known, whatever it says";
    EXPECT_EQ(no->code, errc::quarantined);
    EXPECT_GT(*no->look_again, 60s);
    EXPECT_TRUE(one.refuse_answer(now + 60s));
    EXPECT_FALSE(one.refuse_answer(now + 64s));
}

}  // namespace
}  // namespace holdfast::sql_backend

#endif
