// The messages between clients of one store on this machine when memory is missing.
#include "backends/common/mailbox.hpp"
#include "regress/failing_allocations.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <optional>

namespace holdfast::backends {
namespace {

using namespace test;

TEST(mailbox_without_memory, receives_messages_once_it_could_be_opened) {
    const temp_dir folder;
    const auto place = folder.path().string();
    io::reactor reactor;
    mailbox sender{reactor, place, "sender", [](const message&) {}};
    ASSERT_EQ(sender.open(), "");
    std::atomic<int> received{0};
    std::optional<mailbox> one;
    const auto renew = [&] { one.emplace(reactor, place, "receiver", [&](const message&) { ++received; }); };
    renew();
    int rounds = 0;
    const auto failures = each_failure(
        failure::of_one_allocation,
        [&] {
            try {
                (void)one->open();
            } catch (const std::bad_alloc&) {
            }
        },
        [&] {
            EXPECT_EQ(sender.reaches("receiver"), one->is_open());
            EXPECT_EQ(one->open(), "");
            EXPECT_EQ(sender.send("receiver", {.name = "stock"}), wake_socket::sent::yes);
            EXPECT_TRUE(eventually(patience, [&] { return received == rounds + 1; }));
            ++rounds;
            one->close();
            renew();
        });
    EXPECT_GT(failures, 1);
}

}  // namespace
}  // namespace holdfast::backends
