// Resources that reject old fences by the statements of fence_check.hpp.
#include "server/scene.hpp"

#include <holdfast/fence_check.hpp>

#include <sqlite3.h>

namespace holdfast::test {
namespace {

TEST(fence_check, text_compares_like_the_number) {
    EXPECT_EQ(to_text(fence{7}), "00000000000000000007");
    EXPECT_LT(to_text(fence{9}), to_text(fence{10}));
    EXPECT_EQ(to_text(fence{~std::uint64_t{0}}), "18446744073709551615");
}

TEST(fence_check, redis_rejects_the_stale_write_of_a_real_lock) {
    redis_server server;
    client c{server.url()};
    mutex lock{c, "job", {.fenced = true}};
    const auto write = [&](const std::string& value, const lease& by) {
        return server
            .command({"EVAL", std::string{redis_fenced_set}, "2", "{job}:data", "{job}:fence",
                      to_text(by.fence()), value})
            .number;
    };
    lease slow = lock.acquire({.ttl = 100ms});
    ASSERT_TRUE(eventually(patience, [&] { return !slow.valid(); }));
    lease next = lock.acquire();
    EXPECT_EQ(write("next", next), 1);
    EXPECT_EQ(write("slow", slow), 0);
    EXPECT_EQ(server.command({"GET", "{job}:data"}).text, "next");
    EXPECT_EQ(write("next again", next), 1);
    EXPECT_EQ(server.command({"GET", "{job}:data"}).text, "next again");
}

TEST(fence_check, redis_compares_fences_beyond_the_integers_of_lua) {
    redis_server server;
    const auto write = [&](std::uint64_t f) {
        return server
            .command({"EVAL", std::string{redis_fenced_set}, "2", "data", "newest", to_text(fence{f}), "x"})
            .number;
    };
    constexpr std::uint64_t high = (std::uint64_t{1} << 60) + 1;
    EXPECT_EQ(write(high), 1);
    EXPECT_EQ(write(high - 1), 0);
    EXPECT_EQ(write(high + 1), 1);
    EXPECT_EQ(write(9), 0);
}

TEST(fence_check, database_changes_no_row_for_an_old_fence) {
    sqlite3* opened = nullptr;
    ASSERT_EQ(sqlite3_open(":memory:", &opened), SQLITE_OK);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> db{opened, &sqlite3_close};
    ASSERT_EQ(sqlite3_exec(db.get(), std::string{sql_fence_table}.c_str(), nullptr, nullptr, nullptr),
              SQLITE_OK);
    const auto rows = [&](std::int64_t fence) {
        sqlite3_stmt* prepared = nullptr;
        EXPECT_EQ(sqlite3_prepare_v2(db.get(), sql_fence_check.data(),
                                     static_cast<int>(sql_fence_check.size()), &prepared, nullptr),
                  SQLITE_OK);
        sqlite3_bind_text(prepared, 1, "ledger", -1, SQLITE_STATIC);
        sqlite3_bind_int64(prepared, 2, fence);
        EXPECT_EQ(sqlite3_step(prepared), SQLITE_DONE);
        sqlite3_finalize(prepared);
        return sqlite3_changes(db.get());
    };
    EXPECT_EQ(rows(16), 1);
    EXPECT_EQ(rows(16), 1) << "the same holder writes again";
    EXPECT_EQ(rows(48), 1);
    EXPECT_EQ(rows(32), 0);
    EXPECT_EQ(rows(49), 1);
}

}  // namespace
}  // namespace holdfast::test
