// What `holdfast doctor` prints about an examination.
#include "cli/doctor/examination_text.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>
#include <string>

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

examination two_servers() {
    return {
        {{"db1:6379", "7.0.15", "master", "r1", 1500us, 200us, 400us}, {"db2:6379", "", "", "", {}, 0us, {}}},
        {{"role", severity::ok, "db1:6379", "it is a master", "why", "", promise::live},
         {"version", severity::unknown, "db2:6379", "could not look: INFO: NOPERM", "m", "ask",
          promise::live},
         {"keepalive", severity::unknown, "db2:6379", "could not look: INFO: NOPERM", "m", "ask",
          promise::none},
         {"persistence", severity::danger, "db2:6379", "nothing is written", "It forgets.", "CONFIG SET",
          promise::timed},
         {"persistence", severity::ok, "db1:6379", "always", "It forgets.", "", promise::timed},
         {"no-password", severity::note, "db1:6379", "none", "", "", promise::none}}};
}

TEST(doctor_output, is_grouped_by_severity_and_names_the_server_if_there_are_several) {
    const auto text = described(two_servers(), detail::all, 100);
    EXPECT_EQ(text,
              "db1:6379  Redis 7.0.15, master, clock +1.5 ms +- 0.2 ms, round trip 0.4 ms\n"
              "db2:6379  unknown version\n"
              "\nDANGER\n"
              "  persistence  db2:6379  (S2 falls)\n      nothing is written\n      It forgets.\n      mend: "
              "CONFIG SET\n"
              "\nCOULD NOT LOOK\n"
              "  db2:6379: version (S3), keepalive\n      could not look: INFO: NOPERM\n      mend: ask\n"
              "\nNOTE\n"
              "  no-password  db1:6379\n      none\n"
              "\nwell: role\n");
    EXPECT_EQ(described(examination{}, detail::all, 100), "");
}

TEST(doctor_output, shows_only_problems_on_request) {
    const auto text = described(two_servers(), detail::wrong_only, 100);
    EXPECT_TRUE(text.starts_with("DANGER\n"));
    EXPECT_EQ(text.find("NOTE"), std::string::npos);
    EXPECT_EQ(text.find("well"), std::string::npos);
}

TEST(doctor_output, wraps_sentences_but_never_a_command) {
    auto one = two_servers();
    one.findings = {{"x", severity::danger, "a", std::string(60, 'a') + " " + std::string(60, 'b'), "",
                     std::string(60, 'c') + " " + std::string(60, 'd'), promise::none}};
    const auto text = described(one, detail::wrong_only, 100);
    EXPECT_NE(text.find("a\n      b"), std::string::npos);
    EXPECT_NE(text.find("c d"), std::string::npos);
}

TEST(doctor_output, fits_the_terminal) {
    auto one = two_servers();
    std::string text;
    for (int i = 0; i < 40; ++i) text += "word ";
    one.findings = {{"x", severity::danger, "db1:6379", text, text, "CONFIG SET", promise::none},
                    {"y", severity::unknown, "db1:6379", text, text, "ask", promise::none}};
    for (const std::size_t width : {40U, 60U, 100U}) {
        std::istringstream lines{described(one, detail::all, width)};
        std::size_t longest = 0;
        for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
        EXPECT_LE(longest, width);
        EXPECT_GE(longest, width - 5);
    }
}

TEST(doctor_output, calls_a_slave_a_replica) {
    examination one;
    one.servers = {{"db1:6379", "7.0.15", "slave", "r1", {}, 0us, {}}};
    EXPECT_EQ(described(one, detail::all, 80), "db1:6379  Redis 7.0.15, replica\n");
    EXPECT_EQ(to_json(one)["servers"][0]["role"], "slave") << "the server's own field";
}

TEST(doctor_output, has_a_json_form) {
    const auto json = to_json(two_servers());
    EXPECT_EQ(json["worst"], "danger");
    EXPECT_EQ(json["servers"][0]["clock_offset_ms"], 1.5);
    EXPECT_TRUE(json["servers"][1]["clock_offset_ms"].is_null());
    EXPECT_TRUE(json["servers"][1]["clock_error_ms"].is_null());
    EXPECT_TRUE(json["servers"][1]["role"].is_null());
    EXPECT_EQ(json["findings"][0].dump(),
              R"({"id":"role","severity":"ok","server":"db1:6379","found":"it is a master","meaning":"why",)"
              R"("mending":null,"promise":"S3"})");
    EXPECT_TRUE(json["findings"][2]["promise"].is_null());
}

}  // namespace
}  // namespace holdfast::cli
