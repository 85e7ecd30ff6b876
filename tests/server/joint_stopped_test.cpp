// A client of a joint store that is stopped (SIGSTOP) while the mode changes, and goes on with what it knew
// before. It is a forked child: thread sanitizer supports no new threads after fork.
#if !defined(__SANITIZE_THREAD__)
#include "server/scene.hpp"

#include <holdfast/admin.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>

namespace holdfast::test {
namespace {

// The leases outlast both changes, so only its mode lease ends that of the stopped client.
constexpr auto ttl = 60s * slower;

struct journey {
    const char* name;
    bool returns;
    friend void PrintTo(const journey& j, std::ostream* out) { *out << j.name; }
};
const journey journeys[] = {{"there", false}, {"there_and_back", true}};

std::int64_t in_ns(boot_clock::time_point t) {
    return std::chrono::nanoseconds{t.time_since_epoch()}.count();
}

class stopped_client : public ::testing::TestWithParam<journey> {
  protected:
    static constexpr auto confirmed_for = 1s * slower;

    [[nodiscard]] std::string path(const char* name) const { return (folder.path() / name).string(); }
    [[nodiscard]] config joined() const {
        return settings("joint:arbiter=file:" + path("arbiter") +
                            ",mode_lease=" + std::to_string(confirmed_for / 1ms) +
                            "ms,max_skew=0ms,sqlite:" + path("first") + ",sqlite:" + path("second"),
                        ttl);
    }
    // Acquires when it is told to. Reports when its lease was valid for the first and for the last time,
    // whether it learned of the loss, and what its release said.
    [[nodiscard]] child_process start_client() const {
        return child_process::fork_call([how = joined()](const parent_link& parent) {
            client own{how};
            event_recorder events{own};
            (void)parent.await_line();
            auto held = mutex(own, "stock").acquire();
            std::optional<boot_clock::time_point> first, last;
            std::atomic<bool> over{false};
            auto order = in_background([&] {
                (void)parent.await_line();
                over = true;
            });
            const auto look = [&] {
                const auto now = boot_clock::now();
                if (!held.valid()) return over.load();
                first = first.value_or(now);
                if (!last) parent.report("held");
                last = now;
                return over.load();
            };
            if (!eventually(patience, look)) return 1;
            const bool lost = !held.valid() && events.has(event_kind::lost);
            const bool released = held.release() == release_outcome::released;
            std::ostringstream line;
            line << "ends " << in_ns(first.value()) << ' ' << in_ns(last.value()) << ' ' << lost << ' '
                 << released;
            parent.report(line.str());
            return 0;
        });
    }
    struct report {
        std::int64_t first = 0, last = 0;
        bool lost = false, released = false;
    };
    static report ask(child_process& of) {
        of.write("report\n");
        EXPECT_EQ(of.wait(patience), 0) << of.errors();
        report r;
        std::istringstream{of.output().substr(of.output().find("ends ") + 5)} >> r.first >> r.last >>
            r.lost >> r.released;
        return r;
    }
    // The mode changes, and another client takes the lock that the stopped one had.
    lease switch_and_acquire() {
        (void)admin::switch_mode(b, 1, {.by = "test", .reason = "test"});
        auto mine = mutex(b, "stock").try_acquire_for(patience);
        if (!GetParam().returns) return mine;
        client first{settings("sqlite:" + path("first"))};
        // The group needs this level again, and the stopped client may still have the lock there.
        (void)admin::evict(first, "stock", {.wait = 1ms});
        EXPECT_TRUE(eventually(patience, [&] { return admin::inspect(first, "stock").holders.empty(); }));
        (void)admin::switch_mode(b, 0, {.by = "test", .reason = "test"});
        return mine;
    }
    [[nodiscard]] bool waits() {
        return eventually(patience, [&] { return admin::inspect(b, "stock").queue.size() == 1; });
    }

    const temp_dir folder;
    child_process child = start_client();
    client b{joined()};
};

INSTANTIATE_TEST_SUITE_P(, stopped_client, ::testing::ValuesIn(journeys),
                         [](const auto& one) { return one.param.name; });

TEST_P(stopped_client, that_held_the_lock_learns_of_its_loss_when_it_goes_on) {
    child.write("acquire\n");
    ASSERT_TRUE(child.wait_for_output("held", patience)) << child.errors();
    child.pause();
    const auto stopped = boot_clock::now();
    auto mine = switch_and_acquire();
    ASSERT_TRUE(mine.valid());
    child.resume();
    const auto then = ask(child);
    EXPECT_LT(then.last, in_ns(stopped));
    EXPECT_TRUE(then.lost);
    EXPECT_FALSE(then.released);
    EXPECT_TRUE(mine.valid());
    client other{joined()};
    EXPECT_FALSE(mutex(other, "stock").try_acquire()) << "its release frees only what it had";
}

// The level that was left has handed the lock to it meanwhile.
TEST_P(stopped_client, that_waited_does_not_hold_the_lock_beside_another_when_it_goes_on) {
    client a{joined()};
    auto theirs = mutex(a, "stock").acquire();
    child.write("acquire\n");
    ASSERT_TRUE(waits());
    child.pause();
    ASSERT_EQ(theirs.release(), release_outcome::released);
    auto mine = switch_and_acquire();
    ASSERT_TRUE(mine.valid());
    child.resume();
    ASSERT_TRUE(waits()) << "in the mode of now; else it takes what it was handed for the lock";
    EXPECT_TRUE(mine.valid());
    const auto released = boot_clock::now();
    ASSERT_EQ(mine.release(), release_outcome::released);
    ASSERT_TRUE(child.wait_for_output("held", patience)) << child.errors();
    const auto then = ask(child);
    EXPECT_GE(then.first, in_ns(released));
    EXPECT_TRUE(then.released);
}

}  // namespace
}  // namespace holdfast::test
#endif
