// ZooKeeper's protocol, byte by byte. The bytes were recorded from a 3.8.0 server and its Java client's
// layout.
#include "zookeeper/wire.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <string_view>

namespace holdfast::zookeeper {
namespace {

using namespace std::string_literals;

std::string i32(std::uint32_t n) {
    std::string s;
    for (int shift = 24; shift >= 0; shift -= 8)
        s += static_cast<char>((n >> static_cast<unsigned>(shift)) & 0xffU);
    return s;
}
std::string i64(std::uint64_t n) {
    return i32(static_cast<std::uint32_t>(n >> 32U)) + i32(static_cast<std::uint32_t>(n));
}
std::string text(std::string_view t) { return i32(static_cast<std::uint32_t>(t.size())) + std::string{t}; }
std::string stat_bytes(std::uint64_t czxid, std::uint64_t owner) {
    return i64(czxid) + i64(2) + i64(3) + i64(4) + i32(5) + i32(6) + i32(7) + i64(owner) + i32(8) + i32(9) +
           i64(10);
}

TEST(zookeeper_wire, writes_a_login) {
    const auto frame = frame_of_login({0x0102, 4000, 0x0a0b, std::string(16, 'p')});
    EXPECT_EQ(frame,
              i32(45) + i32(0) + i64(0x0102) + i32(4000) + i64(0x0a0b) + text(std::string(16, 'p')) + "\0"s);
}

TEST(zookeeper_wire, writes_requests) {
    EXPECT_EQ(frame(7, remove("/a")),
              i32(4 + 4 + 4 + 2 + 4) + i32(7) + i32(2) + text("/a") + i32(0xffffffffU));
    EXPECT_EQ(create("/a", "d", lifetime::ephemeral_sequential, access::anyone).body,
              text("/a") + text("d") + i32(1) + i32(31) + text("world") + text("anyone") + i32(3));
    EXPECT_EQ(create("/a", "", lifetime::container, access::creator).body,
              text("/a") + text("") + i32(1) + i32(31) + text("auth") + text("") + i32(4));
    EXPECT_EQ(create("/a", "", lifetime::container, access::creator).what, op::create_container);
    EXPECT_EQ(get_data("/a", watch::yes).body, text("/a") + "\1");
    EXPECT_EQ(set_data("/a", "x", 4).body, text("/a") + text("x") + i32(4));
    const std::string both[] = {"/a", "/b"};
    EXPECT_EQ(check_all(both).body, i32(13) + "\0"s + i32(0xffffffffU) + text("/a") + i32(0xffffffffU) +
                                        i32(13) + "\0"s + i32(0xffffffffU) + text("/b") + i32(0xffffffffU) +
                                        i32(0xffffffffU) + "\1" + i32(0xffffffffU));
}

TEST(zookeeper_wire, reads_replies) {
    const auto content = i32(7) + i64(0x0500) + i32(static_cast<std::uint32_t>(-101)) + "rest";
    const auto r = parse_reply(content);
    ASSERT_TRUE(r);
    EXPECT_EQ(r->xid, 7);
    EXPECT_EQ(r->zxid, 0x0500);
    EXPECT_EQ(r->err, code::no_node);
    EXPECT_EQ(r->body, "rest");
    EXPECT_FALSE(parse_reply(i32(7) + i64(1)));

    const auto made = parse_created(text("/a-0000000001") + stat_bytes(17, 99));
    ASSERT_TRUE(made);
    EXPECT_EQ(made->path, "/a-0000000001");
    EXPECT_EQ(made->about.czxid, 17);
    EXPECT_EQ(made->about.ephemeral_owner, 99);
    EXPECT_EQ(made->about.pzxid, 10);

    const auto list = parse_children(i32(2) + text("x") + text("yy") + stat_bytes(1, 0));
    ASSERT_TRUE(list);
    EXPECT_EQ(list->names, (std::vector<std::string>{"x", "yy"}));
    EXPECT_FALSE(parse_children(i32(0x7fffffff) + text("x")));

    const auto data = parse_data(i32(0xffffffffU) + stat_bytes(1, 0));
    ASSERT_TRUE(data) << "a null is empty";
    EXPECT_TRUE(data->data.empty());

    const auto e = parse_event(i32(2) + i32(3) + text("/a"));
    ASSERT_TRUE(e);
    EXPECT_EQ(e->type, event::what::deleted);
    EXPECT_EQ(e->path, "/a");

    const auto in = parse_login(i32(0) + i32(4000) + i64(5) + text(std::string(16, 'p')) + "\0"s);
    ASSERT_TRUE(in);
    EXPECT_EQ(in->timeout_ms, 4000);
    EXPECT_EQ(in->session, 5);
}

TEST(zookeeper_wire, reads_the_results_of_checks) {
    const auto end = i32(0xffffffffU) + "\1" + i32(0xffffffffU);
    const auto good = i32(13) + "\0"s + i32(0);
    const auto bad = [](int err) {
        const auto e = i32(static_cast<std::uint32_t>(err));
        return i32(0xffffffffU) + "\0"s + e + e;
    };
    EXPECT_EQ(parse_checks(good + good + end), (std::vector{code::ok, code::ok}));
    EXPECT_EQ(parse_checks(bad(0) + bad(-101) + bad(-2) + end),
              (std::vector{code::ok, code::no_node, code::runtime_inconsistency}));
    EXPECT_FALSE(parse_checks(good));
    EXPECT_FALSE(parse_checks(i32(99) + "\0"s + i32(0) + end));
}

TEST(zookeeper_wire, writes_a_transaction_and_reads_its_results) {
    const std::vector steps{check("/a", 3), remove("/b")};
    EXPECT_EQ(transaction(steps).what, op::multi);
    EXPECT_EQ(transaction(steps).body, i32(13) + "\0"s + i32(0xffffffffU) + text("/a") + i32(3) + i32(2) +
                                           "\0"s + i32(0xffffffffU) + text("/b") + i32(0xffffffffU) +
                                           i32(0xffffffffU) + "\1" + i32(0xffffffffU));
    const auto end = i32(0xffffffffU) + "\1" + i32(0xffffffffU);
    const auto about = std::string(68, '\0');
    const auto results =
        parse_transaction(i32(13) + "\0"s + i32(0) + i32(5) + "\0"s + i32(0) + about + i32(15) + "\0"s +
                          i32(0) + text("/c/d-0000000001") + about + i32(2) + "\0"s + i32(0) + end);
    ASSERT_TRUE(results);
    ASSERT_EQ(results->size(), 4U);
    EXPECT_EQ((*results)[2].path, "/c/d-0000000001");
    EXPECT_EQ((*results)[3].err, code::ok);
    EXPECT_FALSE(parse_transaction(i32(15) + "\0"s + i32(0) + text("/c") + end));
    // As a server of version 3.8 answers.
    const auto without_stat = parse_transaction(i32(1) + "\0"s + i32(0) + text("/c/d-0000000001") + end);
    ASSERT_TRUE(without_stat);
    EXPECT_EQ(without_stat->front().path, "/c/d-0000000001");
}

RC_GTEST_PROP(zookeeper_frames, come_out_as_they_went_in_however_they_are_split, ()) {
    const auto contents = *rc::gen::container<std::vector<std::string>>(rc::gen::string<std::string>());
    std::string bytes;
    for (const auto& c : contents) bytes += text(c);
    frame_reader frames;
    std::vector<std::string> seen;
    while (!bytes.empty()) {
        const auto n = *rc::gen::inRange<std::size_t>(1, bytes.size() + 1);
        frames.feed(std::string_view{bytes}.substr(0, n));
        bytes.erase(0, n);
        while (const auto c = frames.next()) seen.emplace_back(*c);
    }
    RC_ASSERT(seen == contents);
}

TEST(zookeeper_frames, of_an_impossible_length_break_the_stream) {
    for (const auto size : {0xffffffffU, 0x7fffffffU}) {
        frame_reader frames;
        frames.feed(i32(size));
        EXPECT_FALSE(frames.next());
        EXPECT_TRUE(frames.broken());
    }
}

}  // namespace
}  // namespace holdfast::zookeeper
