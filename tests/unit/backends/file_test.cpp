// A store in lock files: its URL, its names, its marks, and what it reads from the kernel's table.
#include "backends/file/describe.hpp"
#include "backends/file/kernel_locks.hpp"
#include "backends/file/marks.hpp"
#include "backends/file/paths.hpp"
#include "backends/file/peers.hpp"
#include "backends/file/url.hpp"
#include "engine/kinds.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::file_backend {
namespace {

using backend::presence;
using test::code_of;

// --- URL and names ----------------------------------------------------------------------------------

TEST(file_url, names_a_directory) {
    EXPECT_EQ(parse_url("file:/run/lock/app").directory, "/run/lock/app");
    EXPECT_EQ(parse_url("file:///run/lock/app/").directory, "/run/lock/app");
    EXPECT_EQ(parse_url("file:/").directory, "/");
    EXPECT_EQ(parse_url("file:locks").directory, (std::filesystem::current_path() / "locks").string());
    EXPECT_EQ(parse_url("file:/run/a%3Fb").directory, "/run/a?b");
    EXPECT_EQ(parse_url("file:/run").started, children::let_go);
    const auto all = parse_url("file:/run?same_kernel=yes&children=hold_on");
    EXPECT_TRUE(all.same_kernel);
    EXPECT_EQ(all.started, children::hold_on);
}

TEST(file_url, that_cannot_be_meant_is_refused) {
    for (const char* const url : {"file:", "file:?children=hold_on", "file:%00", "file:/a%3", "file://host/a",
                                  "file:/a?children=some", "file:/a?same_kernel", "file:/a?mode=0600"})
        EXPECT_EQ(code_of([&] { (void)parse_url(url); }), errc::invalid_argument) << url;
}

TEST(file_names, are_the_names_of_locks_where_they_can_be) {
    for (const char* const name : {"n", "stock:42", "a b", "[a]*", "%s", ".hidden", "..."})
        EXPECT_EQ(paths::file_of(lock_name{name}), name);
    EXPECT_EQ(paths::file_of(lock_name{std::string(240, 'n')}), std::string(240, 'n'));
}

TEST(file_names, are_hashes_where_a_name_is_no_file_name) {
    std::vector<std::string> all;
    for (const auto& name : {std::string{"a/b"}, std::string{"/"}, std::string{"."}, std::string{".."},
                             std::string{"a\0b", 3}, std::string(241, 'n'), std::string(1024, 'n'),
                             std::string{".holdfast"}, std::string{".holdfast-x"}}) {
        const auto file = paths::file_of(lock_name{name});
        EXPECT_TRUE(paths::is_hashed(file)) << name;
        EXPECT_LE(file.size() + std::string{".permits"}.size(), 255U);
        EXPECT_EQ(file.find('/'), std::string::npos);
        EXPECT_EQ(std::count(all.begin(), all.end(), file), 0) << name;
        all.push_back(file);
    }
    EXPECT_FALSE(paths::may_be_lock(".holdfast")) << "the store's own";
    EXPECT_FALSE(paths::may_be_lock(".."));
}

// --- marks ------------------------------------------------------------------------------------------

owner_number any_owner() {
    return {*rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 56U),
            *rc::gen::inRange<std::int64_t>(std::int64_t{1} << 50, std::int64_t{1} << 57)};
}

RC_GTEST_PROP(file_marks, say_what_was_marked, ()) {
    const auto owner = any_owner();
    const auto of = static_cast<kind>(*rc::gen::inRange(0, 10));
    const auto holder = mark_in(mark_of_holder(of, owner));
    RC_ASSERT(holder && holder->is == mark::meaning::holder && holder->of == of && holder->owner == owner);
    const auto waiter = mark_in(mark_of_waiter(owner));
    RC_ASSERT(waiter && waiter->is == mark::meaning::waiter && waiter->owner == owner);
    const auto permits = *rc::gen::inRange<std::uint32_t>(1, 1'000'000'000);
    const auto count = mark_in(mark_of_count(owner, permits, *rc::gen::inRange(0U, choices)));
    RC_ASSERT(count && count->is == mark::meaning::count && count->range.length == permits);
    RC_ASSERT(count->range.start + (count->range.length - 1) > 0);  // it ends before the largest offset
    RC_ASSERT((number_of(text_of(owner)) == std::optional{owner}));
}

bool overlap(const byte_range& a, const byte_range& b) {
    return a.start < b.start + b.length && b.start < a.start + a.length;
}

RC_GTEST_PROP(file_marks, of_other_kinds_are_found_and_those_of_the_own_family_are_not, ()) {
    const auto of = static_cast<kind>(*rc::gen::inRange(0, 10));
    const auto other = static_cast<kind>(*rc::gen::inRange(0, 10));
    const auto seen = mark_of_holder(other, any_owner());
    const auto asked = marks_of_other_kinds(of);
    const bool found = overlap(seen, asked.before) || overlap(seen, asked.behind);
    RC_ASSERT(found == (engine::rules_of(of).belongs_to != engine::rules_of(other).belongs_to));
    RC_ASSERT(!overlap(mark_of_waiter(any_owner()), asked.before));
    RC_ASSERT(!overlap(mark_of_waiter(any_owner()), asked.behind));
    RC_ASSERT(!overlap(mark_of_count(any_owner(), 1), asked.behind));
    RC_ASSERT(!overlap(seen, marks_of_waiters()));
    RC_ASSERT(!overlap(seen, marks_of_counts()));
}

TEST(file_marks, are_no_ranges_of_other_programs) {
    for (const byte_range& range : {byte_range{0, 0}, byte_range{0, 1}, byte_range{100, 4096},
                                    byte_range{0, std::int64_t{1} << 62}, byte_range{-1, 10}})
        EXPECT_FALSE(mark_in(range)) << range.start << ' ' << range.length;
    for (const char* const owner :
         {"", "|", "0123456789abcd|1", "0123456789abcd", "0123456789ABCD|1800000000000000",
          "0123456789abcd|01800000000000000", "0123456789abc|1800000000000000"})
        EXPECT_FALSE(number_of(owner)) << owner;
    EXPECT_TRUE(number_of("0123456789abcd|1800000000000000"));
}

// --- the kernel's table -----------------------------------------------------------------------------

std::string line_of(const byte_range& range) {
    return "9: OFDLCK ADVISORY  READ -1 fe:00:77 " + std::to_string(range.start) + " " +
           std::to_string(range.start + range.length - 1) + "\n";
}
const owner_number owner_a{0x0123456789abcd, 1'800'000'000'000'000};
const owner_number owner_b{0xfedcba98765432, 1'800'000'000'000'001};

TEST(file_lock_table, has_holders_waiters_and_marks) {
    const auto table = parse_lock_table(
        "1: FLOCK  ADVISORY  WRITE 120 fe:00:77 0 EOF\n"
        "1: -> FLOCK  ADVISORY  READ 121 fe:00:77 0 EOF\n"
        "2: POSIX  ADVISORY  WRITE 5 fe:00:77 0 EOF\n" +
        line_of(mark_of_holder(kind::native, owner_a)) + line_of({0, 10}) +
        "3: FLOCK  ADVISORY  READ 122 103:1a:9978103 0 EOF\nnonsense\n4: FLOCK\n");
    ASSERT_EQ(table.size(), 2U);
    const auto& one = table.at({0xfe, 0, 77});
    ASSERT_EQ(one.held.size(), 1U);
    EXPECT_EQ(one.held[0].pid, 120);
    EXPECT_TRUE(one.held[0].exclusive);
    ASSERT_EQ(one.blocked.size(), 1U);
    EXPECT_EQ(one.blocked[0].pid, 121);
    ASSERT_EQ(one.marks.size(), 1U);
    EXPECT_EQ(one.marks[0].owner, owner_a);
    EXPECT_EQ(table.at({0x103, 0x1a, 9978103}).held[0].pid, 122);
}

surroundings with_peers(std::vector<peer> peers) {
    return {[peers](const std::string& tag) -> std::optional<peer> {
                for (const auto& one : peers)
                    if (one.tag == tag) return one;
                return std::nullopt;
            },
            [](const peer&) { return true; }, [](std::int64_t pid) { return pid != 404; }};
}
locks_of_file locks(std::vector<locks_of_file::flock_entry> held, const std::vector<byte_range>& ranges) {
    locks_of_file all{std::move(held), {}, {}};
    for (const auto& range : ranges) all.marks.push_back(*mark_in(range));
    return all;
}

TEST(file_description, tells_clients_from_other_programs) {
    const auto seen = describe(lock_name{"n"},
                               locks({{7, false}, {8, false}},
                                     {mark_of_holder(kind::shared_read, owner_a), mark_of_waiter(owner_b)}),
                               with_peers({{"socket", text_of(owner_a).substr(0, 14), 7}}));
    EXPECT_EQ(seen.layout, "shared_mutex");
    ASSERT_EQ(seen.holders.size(), 2U);
    EXPECT_EQ(seen.holders[0].owner, text_of(owner_a));
    EXPECT_EQ(seen.holders[0].pid, 7);
    EXPECT_EQ(seen.holders[0].client, presence::connected);
    EXPECT_EQ(seen.holders[0].ask_at, "socket");
    EXPECT_EQ(seen.holders[1].owner, "process 8");
    EXPECT_TRUE(is_foreign(seen.holders[1].owner));
    ASSERT_EQ(seen.queue.size(), 1U);
    EXPECT_EQ(seen.queue[0].owner, text_of(owner_b));
}

TEST(file_description, says_that_the_locking_process_has_ended) {
    const auto seen = describe(lock_name{"n"}, locks({{404, true}}, {}), with_peers({}));
    EXPECT_EQ(seen.layout, "foreign flock");
    EXPECT_FALSE(seen.ours);
    ASSERT_EQ(seen.holders.size(), 1U);
    EXPECT_NE(seen.holders[0].owner.find("404 (ended"), std::string::npos) << seen.holders[0].owner;
}

TEST(file_description, takes_the_process_of_an_unknown_client_from_the_kernel) {
    const auto alone =
        describe(lock_name{"n"}, locks({{7, true}}, {mark_of_holder(kind::native, owner_a)}), with_peers({}));
    ASSERT_EQ(alone.holders.size(), 1U);
    EXPECT_EQ(alone.holders[0].pid, 7);
    // The kernel shows no process of another pid namespace.
    const auto elsewhere =
        describe(lock_name{"n"}, locks({}, {mark_of_holder(kind::native, owner_a)}), with_peers({}));
    ASSERT_EQ(elsewhere.holders.size(), 1U);
    EXPECT_EQ(elsewhere.holders[0].pid, 0);
}

TEST(file_description, adds_up_the_permits) {
    const auto seen = describe(lock_name{"n"},
                               locks({{7, false}, {7, false}},
                                     {mark_of_holder(kind::semaphore, owner_a), mark_of_count(owner_a, 3, 1),
                                      mark_of_holder(kind::semaphore, owner_b), mark_of_count(owner_b, 1)}),
                               with_peers({}));
    ASSERT_EQ(seen.holders.size(), 2U);
    EXPECT_EQ(seen.holders[0].holds, 3U);
    EXPECT_EQ(permits_out(seen), 4);
}

TEST(file_peers, are_read_from_the_names_of_their_sockets) {
    const auto here = peer_in(socket_name("0123456789abcd"));
    ASSERT_TRUE(here);
    EXPECT_EQ(here->tag, "0123456789abcd");
    EXPECT_EQ(here->pid, ::getpid());
    const auto elsewhere = peer_in("0123456789abcd.17.42");
    ASSERT_TRUE(elsewhere);
    EXPECT_EQ(elsewhere->pid, 0) << "its pid means another process here";
    for (const char* const name : {"", "x", "x.y", "x.y.z", "x.0.1", "x.-1.1", "x.1y.1"})
        EXPECT_FALSE(peer_in(name)) << name;
}

}  // namespace
}  // namespace holdfast::file_backend
