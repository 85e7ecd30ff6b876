#include "cli/output/format.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

const std::chrono::sys_seconds noon{std::chrono::sys_days{std::chrono::year{2026} / 3 / 1} + 12h};

lock_info lock_with(const char* name, const char* layout) {
    return {.name = name,
            .layout = layout,
            .ours = false,
            .holders = {},
            .ttl = {},
            .queue = {},
            .last_fence = {}};
}

holder_info holder_with(const char* owner) {
    holder_info holder;
    holder.owner = owner;
    return holder;
}

lock_info held_by_web_3() {
    auto lock = lock_with("stock:42", "mutex");
    lock.ours = true;
    lock.holders.push_back({.owner = "abc|7",
                            .holds = 1,
                            .host = "web-3",
                            .pid = 4242,
                            .since = noon,
                            .client = presence::connected});
    lock.ttl = 28'300ms;
    return lock;
}

TEST(Output, describes_a_held_lock) {
    auto lock = held_by_web_3();
    lock.queue.push_back({.owner = "def|1", .host = "web-4", .pid = 17, .waiting = 2'500ms});
    lock.last_fence = 99;
    EXPECT_EQ(described(lock, noon + 90s),
              "lock     stock:42\n"
              "kind     mutex\n"
              "holder   web-3, pid 4242, asked for it 1m30s ago, connected\n"
              "owner    abc|7\n"
              "ttl      28s\n"
              "queue    1 waiting\n"
              "     1.  web-4, pid 17, for 2.5s\n"
              "fence    up to 99 so far\n");
}

TEST(Output, says_what_is_unknown_about_a_foreign_lock) {
    auto lock = lock_with("job", "foreign string");
    lock.holders.push_back(holder_with("\x1b[2Jtoken"));
    lock.bytes = 9;
    EXPECT_EQ(described(lock, noon),
              "lock     job\n"
              "kind     foreign string\n"
              "         foreign: written by another client, which does not say who it is or since when\n"
              "         a string of 9 bytes that does not expire: it may be data, not a lock\n"
              "holder   another client\n"
              "owner    \\x1b[2Jtoken\n"
              "ttl      none: it does not expire\n");
}

TEST(Output, says_whether_a_holder_is_disconnected_or_unknown) {
    auto lock = held_by_web_3();
    lock.holders[0].client = presence::gone;
    EXPECT_NE(described(lock, noon).find(", not connected\n"), std::string::npos);
    EXPECT_EQ(to_json(lock)["holders"][0]["connected"], false);
    lock.holders[0].client = presence::unknown;
    EXPECT_NE(described(lock, noon).find(", not known whether connected\n"), std::string::npos);
    EXPECT_TRUE(to_json(lock)["holders"][0]["connected"].is_null());
}

TEST(Output, permits_are_counted_as_permits) {
    auto lock = held_by_web_3();
    lock.holders[0].holds = 2;
    EXPECT_NE(described(lock, noon).find(", held 2 times"), std::string::npos);
    lock.layout = "counting_semaphore";
    lock.holders.push_back(holder_with("java"));
    lock.count = 1;
    EXPECT_EQ(described(lock, noon + 90s),
              "lock     stock:42\n"
              "kind     counting_semaphore\n"
              "holder   web-3, pid 4242, asked for it 1m30s ago, 2 permits, connected\n"
              "owner    abc|7\n"
              "holder   another client\n"
              "owner    java\n"
              "free     1\n"
              "ttl      28s\n");
}

TEST(Output, unlisted_holders_are_counted) {
    auto lock = held_by_web_3();
    EXPECT_EQ(holder_text(lock), "web-3:4242");
    lock.holders.push_back(holder_with("def|1"));
    EXPECT_EQ(holder_text(lock), "web-3:4242 +1");
    lock.more_holders = 40;
    EXPECT_EQ(holder_text(lock), "web-3:4242 +41");
    EXPECT_NE(described(lock, noon).find("owner    def|1\n         and 40 more\n"), std::string::npos);
    EXPECT_EQ(to_json(lock)["more_holders"], 40);
}

TEST(Output, counter_is_not_called_foreign) {
    auto number = lock_with("render", "counter");
    number.count = 3;
    EXPECT_EQ(described(number, noon).find("foreign"), std::string::npos);
}

TEST(Output, counter_may_be_a_semaphore_without_recorded_owners) {
    auto number = lock_with("render", "counter");
    number.count = 3;
    const auto text = described(number, noon);
    EXPECT_EQ(text.find("nobody has a permit"), std::string::npos);
    EXPECT_NE(text.find("a semaphore whose permits have no recorded owner"), std::string::npos) << text;
}

TEST(Output, a_foreign_waiter_is_shown_by_its_owner) {
    auto lock = held_by_web_3();
    lock.queue.push_back(
        {.owner = "0d2b3c47-0c5e-4a45-9f9e-000000000000:41", .host = {}, .pid = 0, .waiting = {}});
    EXPECT_NE(described(lock, noon)
                  .find("     1.  another client, owner 0d2b3c47-0c5e-4a45-9f9e-000000000000:41\n"),
              std::string::npos);
}

TEST(Output, lock_with_one_owner_per_member_may_be_held_as_a_whole) {
    const auto lock = lock_with("job", "recursive_mutex, an owner each on 3 of 3 members");
    EXPECT_NE(described(lock, noon)
                  .find("a RedissonRedLock or MultiLock of a Java client, which is held as a whole"),
              std::string::npos);
}

TEST(Output, describes_a_free_lock) {
    EXPECT_EQ(described(lock_with("job", "free"), noon), "lock     job\nkind     free: nobody holds it\n");
}

TEST(Output, says_when_dead_waiters_block_a_free_lock) {
    auto lock = lock_with("job", "free");
    lock.dead_waiters = 1;
    lock.blocked_for = 26'000s;
    EXPECT_TRUE(described(lock, noon)
                    .starts_with(
                        "lock     job\nkind     free, but 1 dead waiter in the queue blocks it for 7h13m\n"));
    EXPECT_EQ(to_json(lock)["dead_waiters"], 1);
    EXPECT_EQ(to_json(lock)["blocked_ms"], 26'000'000);
    lock.dead_waiters = 2;
    lock.blocked_for.reset();
    EXPECT_EQ(holder_text(lock), "nobody, but 2 dead waiters in the queue block it forever");
}

TEST(Output, a_clock_that_is_ahead_gives_no_negative_age) {
    EXPECT_NE(described(held_by_web_3(), noon - 5s).find("0ms ago"), std::string::npos);
}

TEST(Output, json_always_has_every_field) {
    const auto json = to_json(held_by_web_3());
    EXPECT_EQ(
        one_line(json),
        R"({"name":"stock:42","kind":"mutex","held":true,"ours":true,"holders":[{"owner":"abc|7","holds":1,)"
        R"("host":"web-3","pid":4242,"since":"2026-03-01T12:00:00.000Z","connected":true}],"more_holders":0,"ttl_ms":28300,)"
        R"("count":null,"queue":[],"more_waiting":0,"dead_waiters":0,"blocked_ms":null,"bytes":null,"last_fence":null})");
}

TEST(Output, json_escapes_bytes_that_are_not_utf8) {
    auto lock = held_by_web_3();
    lock.name = lock_name{"a\xff\n"};
    lock.holders[0].owner = "\xc3";
    const auto json = nlohmann::json::parse(one_line(to_json(lock)));
    EXPECT_EQ(json["name"], "a\\xff\\x0a");
    EXPECT_EQ(json["name_is_escaped"], true);
    EXPECT_EQ(json["holders"][0]["owner"], "\\xc3");
}

TEST(Output, json_keeps_other_names_unchanged) {
    auto lock = held_by_web_3();
    lock.name = lock_name{"a\n\\\"\u00e9"};
    const auto json = nlohmann::json::parse(one_line(to_json(lock)));
    EXPECT_EQ(json["name"], "a\n\\\"\u00e9");
    EXPECT_FALSE(json.contains("name_is_escaped"));
}

TEST(Output, json_writes_invisible_and_bidirectional_controls_in_ascii) {
    auto lock = held_by_web_3();
    lock.name = lock_name{"pay\u202elruc"};
    lock.holders[0].host = "web\u200b-3";
    const auto line = one_line(to_json(lock));
    EXPECT_EQ(line.find("\u202e"), std::string::npos) << "raw to a terminal";
    EXPECT_EQ(line.find("\u200b"), std::string::npos) << "raw to a terminal";
    const auto json = nlohmann::json::parse(line);
    EXPECT_EQ(json["name"], "pay\u202elruc");
    EXPECT_EQ(json["holders"][0]["host"], "web\u200b-3");
    EXPECT_FALSE(json.contains("name_is_escaped"));
}

TEST(Output, tables_are_aligned_by_characters) {
    EXPECT_EQ(aligned({{"NAME", "TTL"}, {"\u00e9\u00e9", "1s"}, {"abcdef", "2s"}}),
              "NAME    TTL\n\u00e9\u00e9      1s\nabcdef  2s\n");
    EXPECT_EQ(tab_separated({{"NAME", "TTL"}, {"a", "1s"}}), "a\t1s\n");
}

TEST(Output, long_cell_of_a_table_stays_whole_and_shifts_only_its_row) {
    const std::string name(300, 'n');
    EXPECT_EQ(aligned({{"NAME", "TTL"}, {"abcdef", "1s"}, {name, "2s"}}),
              "NAME    TTL\nabcdef  1s\n" + name + "  2s\n");
}

TEST(Output, durations_are_rounded_for_people) {
    EXPECT_EQ(rough(0ms), "0ms");
    EXPECT_EQ(rough(999ms), "999ms");
    EXPECT_EQ(rough(2'540ms), "2.5s");
    EXPECT_EQ(rough(9'949ms), "9.9s");
    EXPECT_EQ(rough(9'950ms), "10s");
    EXPECT_EQ(rough(59'600ms), "1m00s");
    EXPECT_EQ(rough(90s), "1m30s");
    EXPECT_EQ(rough(2h + 5min), "2h05m");
    EXPECT_EQ(rough(76h), "3d4h");
}

}  // namespace
}  // namespace holdfast::cli
