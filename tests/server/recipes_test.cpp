// The recipes of docs/policies.md, each with two holders of its lock at once: what guards the data by itself,
// in each of the databases.
#include "examples/recipes/cache.hpp"
#include "examples/recipes/databases.hpp"
#include "examples/recipes/device.hpp"
#include "examples/recipes/idempotent.hpp"
#include "examples/recipes/job.hpp"
#include "examples/recipes/money.hpp"
#include "examples/recipes/order.hpp"
#include "examples/recipes/stock.hpp"
#include "support/background.hpp"
#include "support/eventually.hpp"
#include "support/sql_server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using namespace recipes;
using namespace std::chrono_literals;

// Empty: SQLite.
using kind_of_data = std::optional<sql_kind>;

std::string name_of(const kind_of_data& one) { return one ? holdfast::test::name_of(*one) : "sqlite"; }

std::vector<kind_of_data> kinds_of_data() {
    std::vector<kind_of_data> all{std::nullopt};
    for (const auto one : sql_kinds()) all.emplace_back(one);
    return all;
}

class recipe : public ::testing::TestWithParam<kind_of_data> {
  protected:
    // Each of two processes has locks of its own, as in an outage whose policy fails open: both hold whatever
    // they ask for.
    void in_two_processes(const std::function<void(client&, database&)>& work) const {
        std::vector<std::future<void>> both;
        for (const auto* const url : {"local:one", "local:other"})
            both.push_back(in_background([this, &work, url] {
                client own{url};
                const auto its = connect();
                work(own, *its);
            }));
        for (auto& one : both) one.get();
    }
    [[nodiscard]] std::unique_ptr<database> connect() const {
        if (!server) return open_database("sqlite:" + (folder.path() / "data.db").string());
        const auto url = server->url();
        return open_database(url.substr(0, url.find('?')));  // without the options of holdfast
    }
    [[nodiscard]] std::int64_t number(const std::string& sql) { return std::stoll(data.find(sql).value()); }

    const temp_dir folder;
    const std::unique_ptr<sql_server> server = GetParam() ? start_sql_server(*GetParam()) : nullptr;
    const std::unique_ptr<database> connection = connect();
    database& data = *connection;
    client locks{"local:one"};
};

INSTANTIATE_TEST_SUITE_P(, recipe, ::testing::ValuesIn(kinds_of_data()),
                         [](const auto& one) { return name_of(one.param); });

// --- what the recipes rely on -----------------------------------------------------------------------

TEST_P(recipe, data_have_the_same_answers_in_each_database) {
    create_accounts(data);
    const std::string odd = "O'Neill \\ $1 \"x\" \u00fc";
    EXPECT_EQ(data.run("INSERT INTO accounts VALUES ($1, $2)", odd, 5), 1);
    EXPECT_EQ(data.find("SELECT name FROM accounts WHERE cents = $1", 5), odd);
    EXPECT_EQ(data.run("UPDATE accounts SET cents = $2 WHERE name = $1", odd, 5), 1) << "5 before and after";
    EXPECT_EQ(data.run("UPDATE accounts SET cents = $2 WHERE name = $1", "nobody", 5), 0);
    EXPECT_FALSE(data.find("SELECT name FROM accounts WHERE cents = 6"));
    EXPECT_THROW(data.run("INSERT INTO accounts VALUES ($1, 0)", odd), database::duplicate);
    try {
        data.run("UPDATE accounts SET cents = -1");
        FAIL() << "it was written";
    } catch (const database::duplicate&) {
        FAIL() << "it is no duplicate";
    } catch (const std::runtime_error&) {
    }
}

// --- stock ------------------------------------------------------------------------------------------

TEST_P(recipe, of_stock_sells_each_piece_once_with_two_holders) {
    create_stock(data);
    data.run("INSERT INTO stock (sku, qty) VALUES ('book', 100)");
    std::atomic<int> pieces{0};
    in_two_processes([&](client& with, database& shop) {
        for (int i = 0; i < 80; ++i)
            if (sell(with, shop, "book", 1) == sold::yes) ++pieces;
    });
    EXPECT_GT(pieces, 80) << "both have sold";
    EXPECT_EQ(number("SELECT qty FROM stock"), 100 - pieces);
}

TEST_P(recipe, of_stock_refuses_the_holder_that_read_before_another_sold) {
    create_stock(data);
    data.run("INSERT INTO stock (sku, qty) VALUES ('book', 1)");
    const auto seen = data.query("SELECT qty, version FROM stock WHERE sku = 'book'");
    EXPECT_EQ(deduct(data, "book", 1), sold::yes);
    EXPECT_EQ(
        data.run("UPDATE stock SET qty = qty - 1, version = version + 1 WHERE sku = 'book' AND version = $1 "
                 "AND qty >= 1",
                 std::stoll(seen[0][1])),
        0);
    EXPECT_EQ(deduct(data, "book", 1), sold::no_stock);
}

// --- order ------------------------------------------------------------------------------------------

TEST_P(recipe, of_orders_makes_one_of_a_request_that_two_holders_carry_out) {
    create_orders(data);
    std::set<std::string> numbers;
    std::mutex mutex_of_numbers;
    in_two_processes([&](client& with, database& shop) {
        for (int i = 0; i < 20; ++i) {
            const auto name = with.settings().url.substr(6) + std::to_string(i);
            const auto made = create_order(with, shop, {"ann", "click " + std::to_string(i)}, name);
            ASSERT_TRUE(made);
            const std::lock_guard hold{mutex_of_numbers};
            numbers.insert(*made);
        }
    });
    EXPECT_EQ(number("SELECT count(*) FROM orders"), 20);
    EXPECT_EQ(numbers.size(), 20U) << "both got the number of the one that was first";
}

// --- idempotent -------------------------------------------------------------------------------------

TEST_P(recipe, of_idempotent_work_has_its_effect_once_with_two_holders) {
    create_done(data);
    data.run("CREATE TABLE points (n INTEGER)");
    data.run("INSERT INTO points VALUES (0)");
    in_two_processes([&](client& with, database& shop) {
        for (int i = 0; i < 20; ++i)
            (void)handle(with, shop, "request " + std::to_string(i), [](database& in) {
                in.run("UPDATE points SET n = n + 1");
                return in.find("SELECT n FROM points").value();
            });
    });
    EXPECT_EQ(number("SELECT n FROM points"), 20);
}

TEST_P(recipe, of_idempotent_work_leaves_nothing_behind_if_it_fails) {
    create_done(data);
    data.run("CREATE TABLE points (n INTEGER)");
    EXPECT_THROW((void)handle(locks, data, "request",
                              [](database& in) -> std::string {
                                  in.run("INSERT INTO points VALUES (1)");
                                  throw std::runtime_error("it fails");
                              }),
                 std::runtime_error);
    EXPECT_EQ(number("SELECT count(*) FROM points"), 0);
    EXPECT_EQ(handle(locks, data, "request", [](database&) { return std::string{"done"}; }), "done");
}

// --- money ------------------------------------------------------------------------------------------

TEST_P(recipe, of_money_refuses_the_holder_whose_lock_was_taken_over) {
    create_accounts(data);
    data.run("INSERT INTO accounts VALUES ('ann', 100), ('bob', 0)");
    holdfast::mutex turn{locks, "accounts:ann:bob", {.ttl = 10ms, .fenced = true}};
    const auto slow = turn.acquire();
    const auto next = turn.acquire();  // the lease of the slow one is over
    EXPECT_EQ(book(data, {"ann", "bob", 30}, next.fence()), transferred::yes);
    EXPECT_EQ(book(data, {"ann", "bob", 30}, slow.fence()), transferred::refused);
    EXPECT_EQ(number("SELECT cents FROM accounts WHERE name = 'ann'"), 70);
    EXPECT_EQ(number("SELECT count(*) FROM ledger"), 2);
}

TEST_P(recipe, of_money_keeps_the_sum_and_books_each_step_once_with_two_holders) {
    create_accounts(data);
    data.run("INSERT INTO accounts VALUES ('ann', 1000), ('bob', 1000)");
    in_two_processes([&](client& with, database& bank) {
        for (int i = 0; i < 20; ++i)
            (void)move_money(with, bank, i % 2 == 0 ? transfer{"ann", "bob", 10} : transfer{"bob", "ann", 7});
    });
    EXPECT_EQ(number("SELECT sum(cents) FROM accounts"), 2000);
    EXPECT_EQ(number("SELECT sum(cents) FROM ledger"), 0);
    EXPECT_EQ(number("SELECT 1000 + sum(cents) FROM ledger WHERE account = 'ann'"),
              number("SELECT cents FROM accounts WHERE name = 'ann'"));
}

// Three transfers in a ring, each with a lock and a fence of its own pair.
TEST_P(recipe, of_money_lets_no_transfers_wait_for_each_other) {
    create_accounts(data);
    data.run("INSERT INTO accounts VALUES ('ann', 100), ('bob', 100), ('eve', 100)");
    std::vector<std::future<void>> all;
    for (const auto& of : {transfer{"ann", "bob", 1}, transfer{"bob", "eve", 1}, transfer{"eve", "ann", 1}})
        all.push_back(in_background([this, of] {
            const auto bank = connect();
            for (int i = 0; i < 40; ++i) EXPECT_EQ(move_money(locks, *bank, of), transferred::yes);
        }));
    for (auto& one : all) one.get();
    EXPECT_EQ(number("SELECT count(*) FROM accounts WHERE cents = 100"), 3);
    EXPECT_EQ(number("SELECT max(seq) FROM ledger"), 80);
}

TEST_P(recipe, of_money_moves_nothing_that_is_not_there) {
    create_accounts(data);
    data.run("INSERT INTO accounts VALUES ('ann', 5), ('bob', 0)");
    EXPECT_EQ(move_money(locks, data, {"ann", "bob", 6}), transferred::not_enough);
    EXPECT_EQ(number("SELECT cents FROM accounts WHERE name = 'bob'"), 0);
}

// --- a job, a device, a cache -----------------------------------------------------------------------

TEST_P(recipe, of_a_job_does_it_once_a_day_with_two_holders) {
    create_runs(data);
    std::atomic<int> runs{0};
    in_two_processes([&](client& with, database& shop) {
        for (const auto* const day : {"Monday", "Tuesday", "Wednesday"})
            (void)run_nightly(with, shop, "report", day, [&](database&) { ++runs; });
    });
    EXPECT_EQ(runs, 3);
}

TEST_P(recipe, of_a_job_skips_it_while_the_store_is_away) {
    create_runs(data);
    config how;
    how.url = "redis://127.0.0.1:1";
    how.answer_timeout = 100ms;
    client nowhere{how};
    EXPECT_FALSE(run_nightly(nowhere, data, "report", "Monday", [](database&) { FAIL() << "it ran"; }));
}

TEST(recipe_of_a_device, lets_one_in_although_the_lock_file_was_deleted) {
    const temp_dir folder;
    const auto node = (folder.path() / "printer").string();
    std::ofstream{node} << "";
    const auto directory = (folder.path() / "locks").string();
    auto ours = device_locks(directory);
    auto theirs = device_locks(directory);
    const auto mine = holdfast::mutex(ours, "printer").acquire();
    EXPECT_FALSE(holdfast::mutex(theirs, "printer").try_acquire());
    const open_device opened{node};
    std::filesystem::remove(directory + "/printer");
    const auto second = holdfast::mutex(theirs, "printer").try_acquire();
    ASSERT_TRUE(second) << "two holders";
    EXPECT_THROW(open_device{node}, std::system_error);
}

TEST_P(recipe, of_a_cache_loads_once_for_all_that_wait) {
    create_cache(data);
    std::atomic<int> loads{0};
    std::vector<std::future<std::string>> all;
    for (int i = 0; i < 4; ++i)
        all.push_back(in_background([&] {
            const auto cache = connect();
            return get(locks, *cache, "price", 1min, [&] {
                ++loads;
                return std::string{"9.99"};
            });
        }));
    for (auto& one : all) EXPECT_EQ(one.get(), "9.99");
    EXPECT_EQ(loads, 1);
}

TEST_P(recipe, of_a_cache_loads_once_more_for_a_second_holder_and_stays_whole) {
    create_cache(data);
    std::atomic<int> loads{0};
    in_two_processes([&](client& with, database& cache) {
        EXPECT_EQ(get(with, cache, "price", 1min,
                      [&] {
                          ++loads;
                          return std::string{"9.99"};
                      }),
                  "9.99");
    });
    EXPECT_GE(loads, 1);
    EXPECT_LE(loads, 2);
    EXPECT_EQ(cached(data, "price"), "9.99");
    EXPECT_EQ(get(locks, data, "gone", 0ms, [] { return std::string{"x"}; }), "x");
    EXPECT_FALSE(cached(data, "gone")) << "it has expired";
}

}  // namespace
}  // namespace holdfast::test
