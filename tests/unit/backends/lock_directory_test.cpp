// The locks of a directory: what an attempt leaves behind.
#include "backends/file/lock_directory.hpp"
#include "support/eventually.hpp"
#include "support/open_files.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <variant>

namespace holdfast::file_backend {
namespace {

using namespace std::chrono_literals;

class lock_directories : public ::testing::Test {
  protected:
    ~lock_directories() override { waiting->close(); }

    [[nodiscard]] std::string path(const std::string& name) const { return (folder.path() / name).string(); }
    [[nodiscard]] auto begin_to_wait(const backend::lock_key& key) const {
        return std::make_unique<waiting_handle>(
            backends::waiter_registry::add(
                waiters, key, owner,
                std::make_shared<backend::handler<backend::watch_event>>([](const backend::watch_event&) {})),
            waiting, key.name, owner);
    }
    [[nodiscard]] bool is_open_and_free(const std::string& name) const {
        const bool is_open = !test::descriptors_of(path(name)).empty();
        return is_open && lock_file::open(path(name), children::let_go, lock_file::missing::leave)
                                  .try_lock(sharing::exclusive) == 0;
    }

    const test::temp_dir folder;
    const owner_id owner{owner_text("0123456789abcd", std::int64_t{1} << 51)};
    io::reactor reactor;
    const std::shared_ptr<backends::waiter_registry> waiters = std::make_shared<backends::waiter_registry>();
    const std::shared_ptr<waiting_files> waiting =
        std::make_shared<waiting_files>(reactor, [](const lock_name&, close_watch::change) {});
    lock_directory locks{{folder.path().string()}, waiting, waiters};
};

// The next grant in another store is above the raised one.
TEST_F(lock_directories, give_a_raised_fence_to_an_attempt_that_is_repeated) {
    const backend::lock_key ledger{kind::native_fenced, lock_name{"ledger"}};
    const backend::attempt_request r{.key = ledger, .owner = owner, .lease = 10s};
    const auto fence_of = [](const backend::attempt_answer& a) {
        return to_number(std::get<backend::granted>(a).fence);
    };
    const auto first = fence_of(locks.lock(r));
    const auto raise_to = [&](std::uint64_t least) {
        const auto done = locks.raise_fence({.key = ledger,
                                             .what = backend::adjustment::raise_fence,
                                             .amount = static_cast<std::int64_t>(least),
                                             .owner = owner});
        return std::get<backend::adjusted>(done).value;
    };
    EXPECT_EQ(raise_to(first + 1'000'000), 1);
    EXPECT_EQ(fence_of(locks.lock(r)), first + 1'000'000);
    EXPECT_EQ(raise_to(first), 1);
    EXPECT_EQ(fence_of(locks.lock(r)), first + 1'000'000) << "never lower";
    (void)locks.release({.key = ledger, .owner = owner});
    EXPECT_EQ(raise_to(first + 2'000'000), 0) << "not held";
}

// It would be woken by its own close, and try again at once.
TEST_F(lock_directories, close_no_file_of_a_waiter_that_is_refused) {
    std::filesystem::create_directories(path(".holdfast/ledger.fence"));  // cannot be written
    const backend::lock_key ledger{kind::native_fenced, lock_name{"ledger"}};
    const backend::attempt_request r{.key = ledger, .owner = owner, .lease = 10s};
    EXPECT_TRUE(std::holds_alternative<backend::refused>(locks.lock(r)));
    EXPECT_TRUE(test::descriptors_of(path("ledger")).empty()) << "nobody waits";
    {
        const auto waits = begin_to_wait(ledger);
        EXPECT_TRUE(std::holds_alternative<backend::refused>(locks.lock(r)));
        EXPECT_TRUE(is_open_and_free("ledger"));
    }
    EXPECT_TRUE(test::descriptors_of(path("ledger")).empty());
}

TEST_F(lock_directories, close_no_file_of_a_waiter_that_is_refused_permits) {
    std::filesystem::create_directory(path(".holdfast"));
    std::ofstream{path(".holdfast/render.permits")} << "no number";
    const backend::lock_key render{kind::semaphore, lock_name{"render"}};
    const backend::attempt_request r{.key = render, .owner = owner, .lease = 10s, .permits = 1};
    const auto waits = begin_to_wait(render);
    const auto answer = locks.take_permits(r);
    ASSERT_TRUE(answer);
    EXPECT_TRUE(std::holds_alternative<backend::refused>(*answer));
    EXPECT_TRUE(is_open_and_free("render"));
}

}  // namespace
}  // namespace holdfast::file_backend
