// The ladder is complete and consistent, and a verdict can be "no".
#include "lab/ladder.hpp"
#include "lab/play/protocol.hpp"
#include "lab/schemes/schemes.hpp"
#include "lab/trial.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

namespace holdfast::lab {
namespace {

using namespace std::chrono_literals;

TEST(lab_ladder, every_schedule_names_existing_schemes_and_a_reason) {
    for (const auto& rung : ladder()) {
        EXPECT_EQ(find_rung(rung.name), &rung);
        EXPECT_FALSE(rung.schedules.empty()) << rung.name;
        std::set<std::string_view> names;
        for (const auto& one : rung.schedules) {
            EXPECT_TRUE(names.insert(one.name).second) << one.name;
            EXPECT_NE(one.play, nullptr);
            EXPECT_FALSE(one.why.empty()) << one.name;
            EXPECT_FALSE(one.flaw.ends_with('.')) << one.flaw;
            EXPECT_EQ(one.cure.empty(), one.why_cured.empty()) << one.name;
            for (const auto& cast : cast_of(one))
                EXPECT_NE(find_scheme(cast.scheme), nullptr) << rung.name << ' ' << cast.scheme;
        }
    }
    EXPECT_EQ(find_rung("wood"), nullptr);
}

TEST(lab_ladder, every_schedule_has_a_holdfast_run_or_a_reason) {
    for (const auto& rung : ladder()) {
        for (const auto& one : rung.schedules) {
            EXPECT_TRUE(one.ours.empty() || one.ours.starts_with("holdfast")) << rung.name << ' ' << one.name;
            EXPECT_TRUE(one.ours == one.cure || !one.why_ours.empty()) << rung.name << ' ' << one.name;
            EXPECT_TRUE(one.joint.empty() || one.joint.starts_with("holdfast")) << one.name;
            EXPECT_EQ(one.joint.empty(), one.why_joint.empty()) << one.name;
        }
    }
}

TEST(lab_ladder, scheme_source_is_the_text_of_its_file) {
    for (const auto& one : all_schemes()) {
        EXPECT_TRUE(one.source.starts_with("// ")) << one.name;
        EXPECT_NE(one.source.find("void lock() override"), std::string_view::npos) << one.name;
        EXPECT_TRUE(one.name.starts_with(file_of(one))) << one.name;
    }
}

TEST(lab_ladder, texts_are_short) {
    for (const auto& rung : ladder()) {
        for (const auto& one : rung.schedules) {
            for (const auto text : {one.why, one.why_cured, one.why_ours, one.why_joint})
                EXPECT_LE(text.size(), 260U) << text;
        }
    }
}

record overlapping_record() {
    recorder log{"gold", 300ms};
    log.believes("A", 1ms);
    log.believes("B", 2ms);
    return log.finish(3ms);
}

TEST(lab_verdict, flawed_run_without_its_flaw_is_not_as_predicted) {
    EXPECT_TRUE((outcome{"gold", role::flawed, true, {}}).as_predicted());
    EXPECT_FALSE((outcome{"gold", role::flawed, false, {}}).as_predicted());
}

TEST(lab_verdict, broken_run_is_never_as_predicted) {
    for (const auto as : {role::flawed, role::cure, role::ours, role::joint}) {
        for (const bool seen : {true, false})
            EXPECT_FALSE((outcome{"gold", as, seen, {}, false, "process B ended"}).as_predicted());
    }
}

TEST(lab_verdict, cure_must_not_show_the_flaw_but_may_have_another) {
    EXPECT_FALSE((outcome{"platinum", role::cure, true, {}}).as_predicted());
    EXPECT_TRUE((outcome{"platinum", role::cure, false, overlapping_record()}).as_predicted());
}

TEST(lab_verdict, holdfast_must_not_overlap_unless_the_schedule_allows_it) {
    EXPECT_TRUE((outcome{"holdfast_mutex", role::ours, false, {}}).as_predicted());
    EXPECT_FALSE((outcome{"holdfast_mutex", role::ours, false, overlapping_record()}).as_predicted());
    EXPECT_FALSE((outcome{"holdfast_mutex", role::ours, true, {}}).as_predicted());
    EXPECT_TRUE((outcome{"holdfast_joint", role::joint, false, {}}).as_predicted());
    EXPECT_FALSE((outcome{"holdfast_joint", role::joint, false, overlapping_record()}).as_predicted());
    EXPECT_FALSE((outcome{"holdfast_joint", role::joint, true, {}}).as_predicted());
    EXPECT_TRUE((outcome{"holdfast_fenced", role::ours, false, overlapping_record(), true}).as_predicted());
    EXPECT_FALSE((outcome{"holdfast_fenced", role::ours, true, overlapping_record(), true}).as_predicted());
}

TEST(lab_protocol, parts_and_reports_survive_the_line_format) {
    const part sent{.name = "A",
                    .scheme = "gold",
                    .folder = "/tmp/a b",
                    .sockets = {"a.sock", "b.sock"},
                    .password = "secret",
                    .table = "/tmp/locks.db",
                    .resource = "/tmp/c.sock",
                    .key = "lock",
                    .owner = "10.0.0.7:41",
                    .ttl = 300ms,
                    .nested = true,
                    .stack = 4096,
                    .clock_ahead = -61s};
    const auto got = part_from(to_line(sent));
    EXPECT_EQ(got.folder, sent.folder);
    EXPECT_EQ(got.sockets, sent.sockets);
    EXPECT_EQ(got.table, sent.table);
    EXPECT_EQ(got.clock_ahead, sent.clock_ahead);
    EXPECT_EQ(got.owner, sent.owner);
    EXPECT_EQ(got.ttl, sent.ttl);
    EXPECT_TRUE(got.nested);
    EXPECT_EQ(got.stack, sent.stack);

    const auto now = boot_clock::now();
    const auto line = to_line(report{report::kind::believes_no_more, now, "line\nbreak", "\xff", now + 1s});
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const auto received = report_from(line);
    EXPECT_EQ(received.what, report::kind::believes_no_more);
    EXPECT_EQ(received.at, now);
    EXPECT_EQ(received.text, "line\nbreak");
    EXPECT_EQ(received.until, now + 1s);
}

}  // namespace
}  // namespace holdfast::lab
