#include "redis/cluster/cluster_map.hpp"

#include <gtest/gtest.h>

namespace holdfast::redis {
namespace {

reply server_at(const std::string& host, std::int64_t port) {
    return reply::of(
        {reply::of(host), reply::of(port), reply::of("some id"), reply::of(std::vector<reply>{})});
}
reply range(std::int64_t from, std::int64_t to, std::vector<reply> servers) {
    std::vector<reply> parts{reply::of(from), reply::of(to)};
    for (auto& s : servers) parts.push_back(std::move(s));
    return reply::of(std::move(parts));
}
const endpoint asked{"10.0.0.9", 7009};

std::string owner_text(const cluster_map& map, std::uint16_t slot) {
    const auto n = map.owner(slot);
    return n ? address_text(map.masters()[*n]) : "nobody";
}

TEST(cluster_map, names_the_owner_of_a_slot) {
    const auto map = cluster_map::parse(
        reply::of({range(0, 5460, {server_at("10.0.0.1", 7001), server_at("10.0.0.4", 7004)}),
                   range(5461, 5461, {server_at("10.0.0.2", 7002)}),
                   range(10923, 16383, {server_at("10.0.0.1", 7001), server_at("10.0.0.4", 7004)})}),
        asked);
    ASSERT_TRUE(map);
    EXPECT_EQ(owner_text(*map, 0), "10.0.0.1:7001");
    EXPECT_EQ(owner_text(*map, 5460), "10.0.0.1:7001");
    EXPECT_EQ(owner_text(*map, 5461), "10.0.0.2:7002");
    EXPECT_EQ(owner_text(*map, 5462), "nobody");
    EXPECT_EQ(owner_text(*map, 16383), "10.0.0.1:7001");
    EXPECT_EQ(map->masters().size(), 2u);
    EXPECT_EQ(map->replicas(), (std::vector<endpoint>{{"10.0.0.4", 7004}}));
}

TEST(cluster_map, uses_the_asked_host_if_a_server_does_not_know_its_own) {
    for (const auto& host : {reply{}, reply::of(std::string{}), reply::of(std::string{"?"})}) {
        const auto map = cluster_map::parse(
            reply::of({reply::of({reply::of(0), reply::of(16383), reply::of({host, reply::of(7001)})})}),
            asked);
        ASSERT_TRUE(map);
        EXPECT_EQ(owner_text(*map, 1), "10.0.0.9:7001");
    }
}

TEST(cluster_map, rejects_replies_that_are_not_a_map) {
    const auto fine = server_at("h", 1);
    for (const auto& bad :
         {reply{}, reply::of(1), reply::of_error("ERR"), reply::of({reply::of(1)}),
          reply::of({range(0, 16384, {fine})}), reply::of({range(-1, 5, {fine})}),
          reply::of({range(7, 5, {fine})}), reply::of({range(0, 5, {})}),
          reply::of({range(0, 5, {server_at("h", 0)})}), reply::of({range(0, 5, {server_at("h", 65536)})}),
          reply::of({range(0, 5, {reply::of("h")})})})
        EXPECT_FALSE(cluster_map::parse(bad, asked));
    const auto empty = cluster_map::parse(reply::of(std::vector<reply>{}), asked);
    ASSERT_TRUE(empty);
    EXPECT_TRUE(empty->empty());
}

TEST(cluster_map, moves_one_slot_at_a_time) {
    auto map = *cluster_map::parse(reply::of({range(0, 16383, {server_at("a", 1)})}), asked);
    map.move(5, {"b", 2});
    map.move(6, {"a", 1});
    EXPECT_EQ(owner_text(map, 4), "a:1");
    EXPECT_EQ(owner_text(map, 5), "b:2");
    EXPECT_EQ(owner_text(map, 6), "a:1");
    EXPECT_EQ(map.masters().size(), 2u);
}

TEST(redirections, are_parsed) {
    const auto moved = parse_redirection("MOVED 3999 127.0.0.1:6381", asked);
    ASSERT_TRUE(moved);
    EXPECT_EQ(moved->kind, redirection::what::moved);
    EXPECT_EQ(moved->slot, 3999);
    EXPECT_EQ(moved->to, (endpoint{"127.0.0.1", 6381}));
    const auto ask = parse_redirection("ASK 0 fe80::1:6381", asked);
    ASSERT_TRUE(ask);
    EXPECT_EQ(ask->kind, redirection::what::ask);
    EXPECT_EQ(ask->to, (endpoint{"fe80::1", 6381}));
    EXPECT_EQ(address_text(ask->to), "[fe80::1]:6381");
    EXPECT_EQ(parse_redirection("MOVED 1 :6381", asked)->to, (endpoint{"10.0.0.9", 6381}));
    EXPECT_EQ(parse_redirection("MOVED 1 ?:6381", asked)->to.host, "10.0.0.9");
    for (const auto* text : {"", "MOVED", "MOVED 1", "MOVED x h:1", "MOVED 16384 h:1", "MOVED 1 h",
                             "MOVED 1 h:0", "MOVED 1 h:70000", "TRYAGAIN 1 h:1", "ERR MOVED 1 h:1"})
        EXPECT_FALSE(parse_redirection(text, asked)) << text;
}

}  // namespace
}  // namespace holdfast::redis
