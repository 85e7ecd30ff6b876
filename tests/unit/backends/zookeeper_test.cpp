// The names of nodes and the URL of a store in ZooKeeper.
#include "backends/zookeeper/count_data.hpp"
#include "backends/zookeeper/fence_data.hpp"
#include "backends/zookeeper/judgement.hpp"
#include "backends/zookeeper/names.hpp"
#include "backends/zookeeper/node_data.hpp"
#include "backends/zookeeper/paths.hpp"
#include "backends/zookeeper/semaphore_nodes.hpp"
#include "backends/zookeeper/session_bound.hpp"
#include "backends/zookeeper/url.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using namespace zookeeper_backend;
using namespace std::chrono_literals;
using backend::kind;

constexpr const char* ann = "00000000-0000-4000-8000-00000000000a";
constexpr const char* bob = "00000000-0000-4000-8000-00000000000b";

std::string node(const std::string& uuid, const std::string& mark, int n) {
    auto number = std::to_string(n);
    return "_c_" + uuid + "-" + mark + std::string(10 - number.size(), '0') + number;
}

// --- paths --------------------------------------------------------------------------------------------

TEST(zookeeper_paths, keep_what_curator_would_write) {
    EXPECT_EQ(escaped("order:lock:7"), "order:lock:7");
    EXPECT_EQ(escaped("a b"), "a b");
    EXPECT_EQ(escaped("\xc3\xa4\xe9\x94\x81"), "\xc3\xa4\xe9\x94\x81");
}

TEST(zookeeper_paths, escape_what_the_servers_refuse) {
    EXPECT_EQ(escaped("a/b%c"), "a%2fb%25c");
    EXPECT_EQ(escaped("."), "%2e");
    EXPECT_EQ(escaped(".."), "%2e%2e");
    EXPECT_EQ(escaped("..."), "...");
    EXPECT_EQ(escaped(std::string{"\0\x1f\x7f", 3}), "%00%1f%7f");
    EXPECT_EQ(escaped("\xc2\x85"), "%c2%85");                // a control character
    EXPECT_EQ(escaped("\xf0\x9f\x94\x92"), "%f0%9f%94%92");  // a lock, beyond U+FFFF
    EXPECT_EQ(escaped("\xee\x80\x80\xef\xbf\xbd"), "%ee%80%80%ef%bf%bd");
    EXPECT_EQ(escaped("\xff\xc3"), "%ff%c3");
}

RC_GTEST_PROP(zookeeper_path, is_the_name_again, (const std::string& name)) {
    const auto element = escaped(name);
    RC_ASSERT(element.find('/') == std::string::npos);
    RC_ASSERT(unescaped(element) == name);
}

TEST(zookeeper_fence_data, is_told_from_everything_else) {
    for (const std::uint64_t last : {std::uint64_t{1}, std::uint64_t{1} << 60U})
        EXPECT_EQ(parse_fence_data(to_fence_data(last)), last);
    for (const auto* const other : {"", "holdfast fence ", "holdfast fence 1 ", "holdfast fence -1", "1"})
        EXPECT_EQ(parse_fence_data(other), std::nullopt) << other;
    // No lock has its directory there.
    EXPECT_EQ(unescaped(last_of(parent_of(paths("", "/locks", naming::curator).of_fence(lock_name{"a"})))),
              std::nullopt);
}

TEST(zookeeper_paths, of_others_are_no_names) {
    EXPECT_FALSE(unescaped("a%zz"));
    EXPECT_FALSE(unescaped("a%2"));
    EXPECT_FALSE(unescaped("%61"));
}

TEST(zookeeper_paths, lead_to_a_lock_from_the_chroot_down) {
    const paths p{"/app/x", "/locks", naming::curator};
    EXPECT_EQ(p.of("a/b"), "/app/x/locks/a%2fb");
    EXPECT_EQ(p.ancestors(p.of("n")), (std::vector<std::string>{"/app/x/locks", "/app/x/locks/n"}));
    const paths root{"", "/a/b", naming::curator};
    EXPECT_EQ(root.ancestors(root.of("n")), (std::vector<std::string>{"/a", "/a/b", "/a/b/n"}));
}

// --- children -----------------------------------------------------------------------------------------

TEST(zookeeper_children, are_told_apart_by_their_recipe) {
    EXPECT_EQ(parse_child(node(ann, "lock-", 7)).is, role::mutex);
    EXPECT_EQ(parse_child(node(ann, "lock-", 7)).number, 7);
    EXPECT_EQ(parse_child("_c_0123456789abcdef0123456789abcdef-lock-0000000012").is, role::mutex);
    EXPECT_EQ(parse_child(node(ann, "__READ__", 1)).is, role::reader);
    EXPECT_EQ(parse_child(node(ann, "__WRIT__", 1)).is, role::writer);
    EXPECT_EQ(parse_child("0123456789abcdef0123456789abcdef__lock__0000000003").is, role::unseen);
    EXPECT_EQ(parse_child("0123456789abcdef0123456789abcdef__rlock__0000000003").is, role::unseen);
    EXPECT_EQ(parse_child("leases").is, role::other);
    EXPECT_EQ(parse_child("_c_x-lock-").is, role::other);
    EXPECT_EQ(owner_in(node(ann, "lock-", 7)), ann);
    EXPECT_EQ(owner_in("x-1-2"), "x-1-2");
    EXPECT_EQ(owner_in("0123456789abcdef0123456789abcdef__lock__0000000003"),
              "01234567-89ab-cdef-0123-456789abcdef");
}

TEST(zookeeper_mutex, is_held_by_the_lowest_number) {
    const std::vector<std::string> all{node(bob, "lock-", 10), node(ann, "lock-", 9), "_c_y-lock-0000000011"};
    EXPECT_EQ(place_of(all[1], all).is, place::what::holds);
    EXPECT_TRUE(place_of(all[1], all).followed);
    const auto second = place_of(all[0], all);
    EXPECT_EQ(second.is, place::what::waits);
    EXPECT_EQ(second.watch, all[1]);
    EXPECT_EQ(second.holder, ann);
    EXPECT_EQ(place_of(all[2], all).watch, all[0]) << "each waits for the one before it";
    EXPECT_EQ(place_of(node(ann, "lock-", 1), all).is, place::what::missing);
    EXPECT_EQ(place_of_newcomer(kind::native, all).watch, all[2]);
    EXPECT_EQ(place_of_newcomer(kind::native, {}).is, place::what::holds);
}

TEST(zookeeper_shared_mutex, admits_readers_before_the_first_writer) {
    const std::vector<std::string> all{node(ann, "__READ__", 1), node(bob, "__READ__", 2),
                                       node(ann, "__WRIT__", 3), node(bob, "__READ__", 4),
                                       node(bob, "__WRIT__", 5), node(ann, "__READ__", 6)};
    const auto is = [&](int i) { return place_of(all[static_cast<std::size_t>(i)], all); };
    EXPECT_EQ(is(0).is, place::what::holds);
    EXPECT_EQ(is(1).is, place::what::holds);
    EXPECT_EQ(is(2).watch, all[1]) << "a writer waits for the one before it";
    EXPECT_EQ(is(3).watch, all[2]);
    EXPECT_EQ(is(5).watch, all[2]) << "readers wait for the first writer";
    const auto shown = sorted(all);
    EXPECT_EQ(shown.holders.size(), 2U);
    EXPECT_EQ(shown.waiters.size(), 4U);
}

TEST(zookeeper_shared_mutex, lets_a_writer_read_as_well) {
    const auto writer = node(ann, "__WRIT__", 3);
    const auto reader = name_of_downgraded(owner_id{bob}, writer);
    EXPECT_EQ(reader, node(bob, "__READ__", 3));
    const std::vector<std::string> both{reader, writer, node(bob, "__WRIT__", 4)};
    EXPECT_EQ(place_of(writer, both).is, place::what::holds);
    EXPECT_EQ(place_of(reader, both).is, place::what::holds);
    const std::vector<std::string> left{reader, node(bob, "__WRIT__", 4), node(ann, "__READ__", 5)};
    EXPECT_EQ(place_of(reader, left).is, place::what::holds);
    EXPECT_EQ(place_of(left[1], left).watch, reader);
}

// Each order of the listing, or std::sort has no order to keep to.
TEST(zookeeper_children, have_one_order) {
    std::vector<std::string> all{node(bob, "__READ__", 3), node(ann, "lock-", 3), node(ann, "__READ__", 3),
                                 "leases", "x-1-2"};
    std::sort(all.begin(), all.end());
    const auto names = [](const listing& of) {
        std::vector<std::string> n;
        for (const auto* const part : {&of.holders, &of.waiters, &of.others})
            for (const auto& c : *part) n.push_back(c.name);
        return n;
    };
    const auto first = names(sorted(all));
    do EXPECT_EQ(names(sorted(all)), first);
    while (std::next_permutation(all.begin(), all.end()));
}

TEST(zookeeper_children, of_another_recipe_are_refused) {
    const auto mine = node(ann, "lock-", 1);
    for (const auto* const other :
         {"leases", "0123456789abcdef0123456789abcdef__lock__0000000003", "x-1-2"}) {
        const std::vector<std::string> all{mine, other};
        EXPECT_EQ(place_of(mine, all).is, place::what::mismatch) << other;
        EXPECT_EQ(place_of(mine, all).alien, other);
    }
    const std::vector<std::string> shared{mine, node(bob, "__WRIT__", 2)};
    EXPECT_EQ(place_of(mine, shared).is, place::what::mismatch);
}

TEST(zookeeper_children, with_the_names_of_kazoo_are_a_mutex_where_the_url_says_so) {
    const auto by = naming::kazoo;
    const auto first = prefix_of(kind::native, owner_id{bob}, by) + "0000000009";
    const auto second = prefix_of(kind::fair, owner_id{ann}, by) + "0000000010";
    const std::vector<std::string> all{second, first};
    EXPECT_EQ(owner_in(first), bob);
    EXPECT_EQ(place_of(first, all, by).is, place::what::holds);
    EXPECT_EQ(place_of(second, all, by).watch, first);
    EXPECT_EQ(place_of_newcomer(kind::native, all, by).watch, second);
    EXPECT_EQ(sorted(all, by).holders.size(), 1U);
    for (const auto& other :
         {node(ann, "lock-", 1), std::string{"0123456789abcdef0123456789abcdef__rlock__0000000003"}}) {
        const std::vector<std::string> mixed{first, other};
        EXPECT_EQ(place_of(first, mixed, by).is, place::what::mismatch) << other;
    }
}

TEST(zookeeper_children, whose_numbers_are_no_longer_unique_are_refused) {
    const auto high = node(ann, "lock-", 2147483647);
    const std::vector<std::string> all{high, node(bob, "lock-", 2147483647)};
    EXPECT_EQ(place_of(high, all).is, place::what::exhausted);
    const std::vector<std::string> negative{node(ann, "lock-", 1), "_c_x-lock--2147483640"};
    EXPECT_EQ(place_of(negative[0], negative).is, place::what::exhausted);
}

TEST(zookeeper_nodes, say_who_made_them) {
    for (const auto of :
         {kind::native, kind::native_fenced, kind::recursive, kind::fair, kind::shared_read}) {
        const auto read = parse_node_data(to_bytes({of, "web-3", 4711, 2}));
        ASSERT_TRUE(read);
        EXPECT_EQ(read->of, of);
        EXPECT_EQ(read->host, "web-3");
        EXPECT_EQ(read->pid, 4711);
        EXPECT_EQ(read->holds, 2U);
    }
    EXPECT_FALSE(parse_node_data("10.0.0.7"));
    EXPECT_FALSE(parse_node_data(""));
    EXPECT_FALSE(parse_node_data("holdfast what"));
}

TEST(zookeeper_latch, shows_its_count_as_curators_shared_count) {
    engine::lock_record r;
    r.count = {kind::latch, 258};
    const auto bytes = to_count_data(r);
    EXPECT_EQ(bytes.substr(0, 4), (std::string{"\0\0\1\2", 4}));
    EXPECT_EQ(parse_count_data(bytes, kind::latch), r);
    EXPECT_EQ(parse_count_data(bytes.substr(0, 4), kind::latch)->count->value, 258);
    EXPECT_EQ(parse_count_data({"\xff\xff\xff\xff", 4}, kind::latch)->count->value, 0);
    for (const auto* const other : {"", "abc", "10.0.0.7", "holdfast mutex web-3 4711 1"})
        EXPECT_FALSE(parse_count_data(other, kind::latch)) << other;
}

// --- semaphores -----------------------------------------------------------------------------------------

TEST(zookeeper_semaphore, keeps_its_number_as_curators_shared_count) {
    engine::lock_record r;
    r.count = {kind::permit_semaphore, -2};
    const auto bytes = to_count_data(r);
    EXPECT_EQ(bytes.substr(0, 4), "\xff\xff\xff\xfe");
    EXPECT_EQ(parse_count_data(bytes, kind::semaphore), r);
    EXPECT_EQ(parse_count_data(bytes.substr(0, 4), kind::semaphore)->count->value, -2);
    EXPECT_FALSE(parse_count_data(bytes, kind::latch));
    r.count->value = std::int64_t{1} << 40;
    EXPECT_EQ(to_count_data(r).substr(0, 4), "\x7f\xff\xff\xff") << "more than Curator can count";
    EXPECT_EQ(parse_count_data(to_count_data(r), kind::semaphore), r);
}

TEST(zookeeper_semaphore, is_told_by_its_directories) {
    using names = std::vector<std::string>;
    EXPECT_EQ(alien_in(names{"locks", "leases", "count"}), "");
    EXPECT_EQ(alien_in(names{"locks", node(ann, "lock-", 1)}), node(ann, "lock-", 1));
    EXPECT_TRUE(is_directory_of_semaphore(names{"leases"}));
    EXPECT_FALSE(is_directory_of_semaphore(names{}));
    EXPECT_EQ(place_of_newcomer(kind::native, names{"count"}).is, place::what::mismatch);
    EXPECT_EQ(parse_child(node(ann, "lease-", 7)).is, role::permit);
}

TEST(zookeeper_semaphore, has_owners_that_are_found_by_their_uuid) {
    EXPECT_EQ(uuid_of(ann), ann);
    EXPECT_EQ(uuid_of("0000000000004000800000000000000a"), ann);
    EXPECT_EQ(uuid_of("0000000000004000800000000000000a*3"), ann);
    EXPECT_EQ(uuid_of("x-123"), "x-123");
}

TEST(zookeeper_semaphore, gives_permits_to_those_who_came_first) {
    const owner_id a{ann};
    const std::vector permits{node(bob, "lease-", 1), node(ann, "lease-", 4), node(ann, "lease-", 3),
                              node(bob, "lease-", 5)};
    const auto found = look_for(a, permits);
    EXPECT_EQ(found.names, (std::vector{permits[1], permits[2]}));
    EXPECT_EQ(found.rank, 3) << "with the one that came before, not the one behind";
    EXPECT_FALSE(found.exhausted);
    EXPECT_TRUE(look_for(owner_id{"nobody"}, permits).names.empty());
    EXPECT_EQ(look_for(a, std::vector{permits[1], std::string{"strange"}}).rank, 2);
    EXPECT_TRUE(look_for(a, std::vector{node(bob, "lease-", 2147483647)}).exhausted);
}

// --- the bound ----------------------------------------------------------------------------------------

TEST(zookeeper_bound, that_has_passed_does_not_come_back) {
    session_bound of;
    const auto now = boot_clock::now();
    of.proven(now + 1h);
    const auto first = of.current();
    of.proven(now + 2h);
    EXPECT_EQ(first, of.current());
    EXPECT_EQ(first->until(), now + 2h);
    of.end();
    EXPECT_LT(first->until(), now);
    of.proven(now + 3h);
    EXPECT_LT(first->until(), now);
    EXPECT_EQ(of.current()->until(), now + 3h);
}

// --- the URL ------------------------------------------------------------------------------------------

TEST(zookeeper_url, names_an_ensemble) {
    const auto u =
        zookeeper_backend::parse_url("zk://ann:p%40ss@h1,h2:2182,[::1]:2183/app/x?tick=500ms&base=/my/locks");
    ASSERT_EQ(u.servers.size(), 3U);
    EXPECT_EQ(u.servers[0].where.host, "h1");
    EXPECT_EQ(u.servers[0].where.port, 2181);
    EXPECT_EQ(u.servers[1].where.port, 2182);
    EXPECT_EQ(u.servers[2].where.host, "::1");
    EXPECT_EQ(u.servers[2].where.port, 2183);
    EXPECT_EQ(u.credentials, "ann:p@ss");
    EXPECT_EQ(u.chroot, "/app/x");
    EXPECT_EQ(u.base, "/my/locks");
    EXPECT_EQ(u.tick, 500ms);
    EXPECT_EQ(u.names, naming::curator);
    EXPECT_EQ(zookeeper_backend::parse_url("zk://h1?names=kazoo").names, naming::kazoo);
    EXPECT_EQ(zookeeper_backend::parse_url("zk://h1/").chroot, "");
    EXPECT_EQ(zookeeper_backend::parse_url("zk://h1").base, "/locks");
    EXPECT_TRUE(zookeeper_backend::parse_url("zks://h1,h2").servers[1].tls);
}

TEST(zookeeper_url, that_cannot_be_meant_is_refused) {
    for (const char* const url :
         {"zk:h1", "zk://", "zk://h1,,h2", "zk://h1:0", "zk://h1:x", "zk://h1:", "zk://h1?x=1",
          "zk://h1?tick=0", "zk://h1?tick=5", "zk://h1?base=/", "zk://h1?base=locks", "zk://h1?names=zk",
          "zk://h1/a//b", "zk://h1/..", "zk://ann@h1", "zk://[::1", "zk://h1?ca=/x", "zk://h1/a%0"})
        EXPECT_EQ(code_of([&] { (void)zookeeper_backend::parse_url(url); }), errc::invalid_argument) << url;
}

TEST(zookeeper_url, that_is_refused_shows_no_password) {
    try {
        (void)zookeeper_backend::parse_url("zk://ann:secret@h1:x");
        ADD_FAILURE() << "it was accepted";
    } catch (const error& e) {
        EXPECT_EQ(std::string{e.what()}.find("secret"), std::string::npos) << e.what();
    }
}

// --- the doctor ---------------------------------------------------------------------------------------

ensemble_state healthy_ensemble() {
    ensemble_state s;
    s.config = "server.1=h1:1:2:participant;3\nserver.2=h2:1:2:participant;3\nserver.3=h3:1:2;3\nversion=0";
    s.session = 40s;
    s.tick = 2s;
    s.lease = 30s;
    s.servers = {{"h1:2181",
                  "Zookeeper version: 3.9.3-0a1b, built on 2024-10-17\nLatency min/avg/max: 0/0/0\nMode: "
                  "follower\nNode count: 5\n",
                  "zk_version\t3.9.3\nzk_cnt_fsynctime\t7\n", "", 1ms}};
    s.busiest = "/locks/stock";
    s.numbers = 12;
    return s;
}

severity severity_of(const ensemble_state& s, std::string_view id) {
    for (const auto& f : judge(s).findings)
        if (f.id == id) return f.how_bad;
    ADD_FAILURE() << "there is no finding " << id;
    return severity::ok;
}

TEST(zookeeper_examination, finds_nothing_wrong_with_a_healthy_ensemble) {
    const auto all = judge(healthy_ensemble());
    for (const auto& f : all.findings) EXPECT_LE(f.how_bad, severity::note) << f.id << ": " << f.found;
    ASSERT_EQ(all.servers.size(), 1U);
    EXPECT_EQ(all.servers[0].version, "3.9.3");
    EXPECT_EQ(all.servers[0].role, "follower");
}

TEST(zookeeper_examination, judges_versions_by_what_they_lose) {
    const auto judged = [](const std::string& version) {
        auto s = healthy_ensemble();
        s.servers[0].srvr = "Zookeeper version: " + version + ", built on 2020\nMode: leader\n";
        return severity_of(s, "zookeeper-version");
    };
    EXPECT_EQ(judged("3.8.0-5a02a05eddb59aee6ac762f7ea82e92a68eb9c0f"), severity::warning);
    EXPECT_EQ(judged("3.8.4"), severity::warning);
    EXPECT_EQ(judged("3.9.1"), severity::warning);
    EXPECT_EQ(judged("3.8.5"), severity::ok);
    EXPECT_EQ(judged("3.10.0"), severity::ok);
    EXPECT_EQ(judged("3.4.14"), severity::danger);
    EXPECT_EQ(judged("trunk"), severity::unknown);
}

TEST(zookeeper_examination, finds_servers_that_do_not_sync) {
    auto s = healthy_ensemble();
    s.servers[0].mntr = "zk_version\t3.9.3\nzk_cnt_fsynctime\t0\n";
    EXPECT_EQ(severity_of(s, "zookeeper-force-sync"), severity::danger);
    s.servers[0].mntr = "mntr is not executed because it is not in the whitelist.\n";
    EXPECT_EQ(severity_of(s, "zookeeper-force-sync"), severity::unknown);
}

TEST(zookeeper_examination, finds_servers_that_do_not_serve) {
    auto s = healthy_ensemble();
    s.servers[0].srvr = "This ZooKeeper instance is not currently serving requests\n";
    EXPECT_EQ(severity_of(s, "unreachable"), severity::warning);
    s.servers[0] = {"h1:2181", "", "", "Connection refused", 0ms};
    EXPECT_EQ(severity_of(s, "unreachable"), severity::warning);
    s.servers[0].srvr = "srvr is not executed because it is not in the whitelist.\n";
    EXPECT_EQ(severity_of(s, "zookeeper-version"), severity::unknown);
}

TEST(zookeeper_examination, compares_sessions_with_ticks_and_leases) {
    auto s = healthy_ensemble();
    EXPECT_EQ(severity_of(s, "zookeeper-session"), severity::note);
    s.session = 20s;
    EXPECT_EQ(severity_of(s, "zookeeper-session"), severity::warning) << "shorter than the leases";
    s.lease = 1s;
    s.session = 3s;
    EXPECT_EQ(severity_of(s, "zookeeper-session"), severity::warning) << "shorter than two ticks";
}

TEST(zookeeper_examination, warns_before_the_numbers_are_used_up) {
    auto s = healthy_ensemble();
    EXPECT_EQ(severity_of(s, "zookeeper-sequence"), severity::ok);
    s.numbers = std::int64_t{1} << 30;
    EXPECT_EQ(severity_of(s, "zookeeper-sequence"), severity::warning);
    s.numbers = highest_number;
    EXPECT_EQ(severity_of(s, "zookeeper-sequence"), severity::danger);
    s.numbers_refused = "not authorized";
    EXPECT_EQ(severity_of(s, "zookeeper-sequence"), severity::unknown);
}

// The servers show 2 * creations - children, in 32 bits.
TEST(zookeeper_examination, counts_numbers_beyond_31_bits_of_changes) {
    const auto given = [](std::uint32_t creations, std::int32_t children) {
        zookeeper::stat s;
        s.num_children = children;
        s.cversion = static_cast<std::int32_t>(2 * creations - static_cast<std::uint32_t>(children));
        return numbers_given(s);
    };
    EXPECT_EQ(given(0, 0), 0);
    EXPECT_EQ(given(7, 3), 7);
    EXPECT_EQ(given(1U << 30U, 1), std::int64_t{1} << 30);
    EXPECT_EQ(given((1U << 31U) - 1, 2), (std::int64_t{1} << 31) - 1);
}

TEST(zookeeper_examination, counts_the_servers_that_vote) {
    EXPECT_EQ(voters_in(""), 0U);
    EXPECT_EQ(voters_in("server.1=h1:1:2:participant;0.0.0.0:3\nserver.2=h2:1:2:participant\n"
                        "server.3=h3:1:2:observer\nversion=0"),
              2U);
}

}  // namespace
}  // namespace holdfast::test
