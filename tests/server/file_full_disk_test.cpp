// Lock files on a file system that is full.
#include "support/background.hpp"
#include "support/errors.hpp"
#include "support/eventually.hpp"
#include "support/small_disk.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace holdfast::test {
namespace {

class file_locks_on_a_full_disk : public ::testing::Test {
  protected:
    static config on(const small_disk& disk) {
        config how;
        how.url = "file:" + disk.path().string();
        return how;
    }
    static void expect_no_space(const std::function<void()>& call, const std::string& which) {
        EXPECT_EQ(code_of(call), errc::out_of_memory);
        const auto text = message_of(call);
        EXPECT_NE(text.find(which), std::string::npos) << text;
    }
};

TEST_F(file_locks_on_a_full_disk, need_an_inode_only_if_they_are_new) {
    const auto why_not = with_small_disk("size=1m,nr_inodes=30", [](small_disk& disk) {
        client c{on(disk)};
        auto held = mutex(c, "known").acquire();
        disk.use_up_inodes();
        EXPECT_TRUE(held.renew());
        EXPECT_TRUE(held.release());
        EXPECT_TRUE(mutex(c, "known").try_acquire());
        expect_no_space([&] { (void)mutex(c, "new").try_acquire(); }, "no inode is left");
        expect_no_space([&] { (void)mutex(c, "known", {.fenced = true}).try_acquire(); }, "no inode is left");
        EXPECT_TRUE(mutex(c, "known").try_acquire()) << "it was given back";
        disk.make_room();
        EXPECT_TRUE(mutex(c, "new").try_acquire());
        EXPECT_TRUE(mutex(c, "known", {.fenced = true}).try_acquire());
    });
    if (!why_not.empty()) GTEST_SKIP() << why_not;
}

TEST_F(file_locks_on_a_full_disk, need_a_block_only_for_a_number_that_is_new) {
    const auto why_not = with_small_disk("size=1m", [](small_disk& disk) {
        client c{on(disk)};
        mutex ledger{c, "ledger", {.fenced = true}};
        counting_semaphore render{c, "render", {.total = 2}};
        mutex fresh_ledger{c, "fresh ledger", {.fenced = true}};
        counting_semaphore fresh_render{c, "fresh render", {.total = 2}};
        const auto first = to_number(ledger.acquire().fence());
        ASSERT_TRUE(render.try_acquire());
        disk.fill();
        EXPECT_TRUE(mutex(c, "stock").try_acquire()) << "its file is empty";
        EXPECT_GT(to_number(ledger.acquire().fence()), first);
        EXPECT_TRUE(render.try_acquire({.permits = 2}));
        expect_no_space([&] { (void)fresh_ledger.try_acquire(); }, "No space left on device");
        expect_no_space([&] { (void)fresh_render.try_acquire(); }, "No space left on device");
        disk.make_room();
        EXPECT_TRUE(fresh_ledger.try_acquire());
        EXPECT_TRUE(fresh_render.try_acquire({.permits = 2}));
    });
    if (!why_not.empty()) GTEST_SKIP() << why_not;
}

TEST_F(file_locks_on_a_full_disk, are_waited_for_and_granted_when_the_holder_releases) {
    const auto why_not = with_small_disk("size=1m,nr_inodes=30", [](small_disk& disk) {
        client c{on(disk)};
        client d{on(disk)};
        auto held = mutex(c, "stock").acquire();
        disk.fill();
        disk.use_up_inodes();
        mutex of_d{d, "stock"};
        auto waiter = in_background([&] { return of_d.acquire(); });
        EXPECT_TRUE(eventually(patience, [&] { return d.stats().attempts.busy >= 2; }));
        EXPECT_TRUE(held.release());
        EXPECT_TRUE(waiter.get().valid());
    });
    if (!why_not.empty()) GTEST_SKIP() << why_not;
}

}  // namespace
}  // namespace holdfast::test
