// Datagrams between clients of one machine.
#include "backends/common/wake_socket.hpp"
#include "support/eventually.hpp"
#include "support/no_descriptor.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using backends::wake_socket;
using sent = wake_socket::sent;

class wake_sockets : public testing::Test {
  protected:
    [[nodiscard]] static std::vector<std::string> received_by(wake_socket& one) {
        std::vector<std::string> all;
        one.receive_all([&](std::string_view text) { all.emplace_back(text); });
        return all;
    }

    const temp_dir folder;
    const std::string path = (folder.path() / "sockets").string();
};

TEST_F(wake_sockets, carry_messages_to_clients_that_are_there) {
    wake_socket one{path, "one"};
    EXPECT_EQ(one.send("two", "hello"), sent::receiver_is_gone) << "no client has ever listened";
    EXPECT_FALSE(one.reaches("two"));
    std::optional<wake_socket> two{std::in_place, path, "two"};
    two->open();
    EXPECT_TRUE(one.reaches("two"));
    EXPECT_EQ(one.send("two", "hello"), sent::yes);
    EXPECT_EQ(received_by(*two), std::vector<std::string>{"hello"});
    two.reset();
    EXPECT_FALSE(one.reaches("two"));
    EXPECT_EQ(one.send("two", "hello"), sent::receiver_is_gone);
}

#if defined(HOLDFAST_TESTS_WITHOUT_DESCRIPTORS)

TEST_F(wake_sockets, that_are_open_need_no_more_descriptors) {
    wake_socket one{path, "one"};
    wake_socket two{path, "two"};
    one.open();
    two.open();
    {
        const no_descriptor_is_left now;
        EXPECT_TRUE(one.reaches("two"));
        EXPECT_EQ(one.send("two", "hello"), sent::yes);
        EXPECT_FALSE(one.reaches("three"));
        EXPECT_EQ(one.send("three", "hello"), sent::receiver_is_gone);
    }
    EXPECT_EQ(received_by(two), std::vector<std::string>{"hello"});
}

TEST_F(wake_sockets, take_no_client_for_gone_while_there_is_no_descriptor) {
    wake_socket one{path, "one"};
    wake_socket two{path, "two"};
    two.open();
    {
        const no_descriptor_is_left now;
        EXPECT_TRUE(one.reaches("two"));
        EXPECT_EQ(one.send("two", "hello"), sent::not_now);
        EXPECT_THROW(one.open(), std::system_error);
        EXPECT_FALSE(one.is_open());
    }
    EXPECT_EQ(one.send("two", "hello"), sent::yes);
    one.open();
    EXPECT_TRUE(two.reaches("one"));
}

#endif

}  // namespace
}  // namespace holdfast::test
