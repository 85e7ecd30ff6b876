// holdfast switch, on two SQLite databases.
#include "server/cli_scene.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace holdfast::test::cli {
namespace {

class switch_command : public testing::Test {
  protected:
    static constexpr int mode_lease = slower > 1 ? 8 : 3;  // in seconds

    [[nodiscard]] std::string url(const std::string& options = {}) const {
        const auto level = [&](const char* which) { return ",sqlite:" + (folder.path() / which).string(); };
        return "joint:mode_lease=" + std::to_string(mode_lease) + "s,max_skew=0ms" + options +
               level("first") + level("second");
    }
    [[nodiscard]] child_process start(words arguments) const {
        return start_command(std::move(arguments), {{"HOLDFAST_URL", url()}});
    }
    [[nodiscard]] outcome run(words arguments) const {
        auto command = start(std::move(arguments));
        return outcome_of(command);
    }
    [[nodiscard]] static bool has(const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    }

    const temp_dir folder;
};

TEST_F(switch_command, shows_the_mode) {
    const auto shown = run({"switch"});
    EXPECT_EQ(shown.code, 0) << shown.errors;
    EXPECT_TRUE(has(shown.output, "level 1  sqlite:" + (folder.path() / "first").string() + "  in use\n"))
        << shown.output;
    EXPECT_FALSE(has(shown.output, "second  in use")) << shown.output;
    const auto json = nlohmann::json::parse(run({"switch", "show", "--json"}).output);
    EXPECT_EQ(json["group"], "default");
    EXPECT_EQ(json["in_use"], nlohmann::json::array({1}));
    EXPECT_EQ(run({"switch", "history"}).output, "The mode was never changed.\n");
}

TEST_F(switch_command, moves_locks_while_they_are_held) {
    auto holder = start({"run", "stock", "--", "sh", "-c", "echo held; read x; exit 7"});
    ASSERT_TRUE(holder.wait_for_output("held", patience)) << holder.errors();
    const auto changed = run({"switch", "fallback", "--reason", "upgrade", "--by", "li"});
    EXPECT_EQ(changed.code, 0) << changed.errors;
    EXPECT_TRUE(has(changed.output, "together, for at least")) << changed.output;
    EXPECT_EQ(run({"run", "-n", "stock", "--", "true"}).code, 1);
    EXPECT_EQ(outcome_of(holder).code, 7);
    EXPECT_EQ(run({"run", "-n", "stock", "--", "true"}).code, 0);
    const auto history = run({"switch", "history"});
    EXPECT_TRUE(has(history.output, "by li on ")) << history.output;
    EXPECT_TRUE(has(history.output, ": upgrade\n")) << history.output;
    const auto json = nlohmann::json::parse(run({"switch", "history", "--json"}).output);
    EXPECT_EQ(json["in_use"], nlohmann::json::array({2}));
    EXPECT_EQ(json["history"].size(), 2U);
    EXPECT_EQ(json["history"][1]["by"], "li");
    const auto again = run({"switch", "2", "--reason", "upgrade"});
    EXPECT_EQ(again.code, 0);
    EXPECT_TRUE(has(again.output, "is in use already")) << again.output;
}

TEST_F(switch_command, goes_on_from_where_it_was_interrupted) {
    const auto short_wait = run({"switch", "fallback", "--reason", "upgrade", "--wait", "1ms"});
    EXPECT_EQ(short_wait.code, 75) << short_wait.output;
    EXPECT_TRUE(has(short_wait.errors, "must last for another")) << short_wait.errors;
    EXPECT_EQ(nlohmann::json::parse(run({"switch", "--json"}).output)["in_use"],
              nlohmann::json::array({1, 2}));
    EXPECT_EQ(run({"run", "-n", "stock", "--", "true"}).code, 0);
    EXPECT_EQ(run({"switch", "preferred", "--reason", "no upgrade"}).code, 0);
    EXPECT_EQ(nlohmann::json::parse(run({"switch", "--json"}).output)["in_use"], nlohmann::json::array({1}));
}

TEST_F(switch_command, lets_two_levels_stay) {
    const auto would = run({"switch", "joint", "--dry-run"});
    EXPECT_TRUE(has(would.output, "it and its neighbour, together, would be\n")) << would.output;
    const auto changed = run({"switch", "joint", "--reason", "upgrade tonight"});
    EXPECT_EQ(changed.code, 0) << changed.errors;
    EXPECT_TRUE(has(changed.output, "together, until the next change\n")) << changed.output;
    EXPECT_TRUE(has(run({"switch"}).output, "takes effect at once.\n"));
    EXPECT_TRUE(has(run({"switch", "joint", "--reason", "again"}).output, "are in use already\n"));
    const auto next = run({"switch", "fallback", "--reason", "upgrade", "--wait", "1ms"});
    EXPECT_EQ(next.code, 0) << next.errors;
    EXPECT_EQ(nlohmann::json::parse(run({"switch", "--json"}).output)["in_use"], nlohmann::json::array({2}));
}

TEST_F(switch_command, refuses_a_level_that_does_not_answer_unless_forced) {
    const auto down = "joint:arbiter=sqlite:" + (folder.path() / "first").string() +
                      ",mode_lease=1s,max_skew=0ms,sqlite:" + (folder.path() / "first").string() +
                      ",redis://127.0.0.1:1";
    const auto change = [&](words arguments) {
        auto command = start_command(std::move(arguments), {{"HOLDFAST_URL", down}});
        return outcome_of(command);
    };
    const auto refused = change({"switch", "fallback", "--reason", "x"});
    EXPECT_EQ(refused.code, 69) << refused.output;
    EXPECT_TRUE(has(refused.errors, "level 2, redis://127.0.0.1:1, grants no locks now: ")) << refused.errors;
    EXPECT_TRUE(has(refused.errors, "--force")) << refused.errors;
    EXPECT_EQ(change({"switch", "fallback", "--reason", "x", "--force"}).code, 0);
    EXPECT_EQ(change({"switch", "preferred", "--reason", "x"}).code, 0) << "leaving it is free";
}

TEST_F(switch_command, says_how_to_use_a_level_without_the_arbiter) {
    const auto there = url(",arbiter=zk://li:secret@127.0.0.1:1");
    auto command = start_command({"switch", "pin", "2"}, {{"HOLDFAST_URL", there}});
    const auto said = outcome_of(command);
    EXPECT_EQ(said.code, 0) << said.errors;
    EXPECT_TRUE(has(said.output, "To use level 2, sqlite:")) << said.output;
    EXPECT_TRUE(has(said.output, "\n     joint:pin=2,arbiter=zk://li:***@127.0.0.1:1,")) << said.output;
    EXPECT_FALSE(has(said.output, "secret")) << said.output;
    const auto json = nlohmann::json::parse(run({"switch", "pin", "1", "--json"}).output);
    EXPECT_GT(json["wait_ms"], mode_lease * 1'000);
    // What it says to write is a URL.
    auto pinned = start_command({"switch"}, {{"HOLDFAST_URL", json["url"]}});
    EXPECT_TRUE(has(outcome_of(pinned).output, "first  in use\n"));
}

TEST_F(switch_command, publishes_a_document_in_an_arbiter) {
    const auto source = "arbiter:sqlite:" + (folder.path() / "switch").string();
    const auto publish = [&](const std::string& text) {
        std::ofstream{folder.path() / "document"} << text;
        return run({"switch", "publish", (folder.path() / "document").string(), "--source", source});
    };
    const auto serial = [](int n) { return R"({"holdfast": 1, "serial": )" + std::to_string(n) + "}"; };
    EXPECT_EQ(publish(serial(5)).output, "published: clients read it within 5s\n");
    EXPECT_EQ(publish(serial(5)).output, "it is there already\n");
    const auto older = publish(serial(4));
    EXPECT_EQ(older.code, 64);
    EXPECT_TRUE(has(older.errors, "serial is lower than in the last document")) << older.errors;
    const auto bad = publish(R"({"holdfast": 1, "serial": 6, "groups": {"default": {"mode": "away"}}})");
    EXPECT_EQ(bad.code, 64);
    EXPECT_TRUE(has(bad.errors, "groups.default.mode must be one of")) << bad.errors;
    const auto nowhere = run({"switch", "publish", "/nowhere", "--source", source});
    EXPECT_EQ(nowhere.code, 64);
    EXPECT_TRUE(has(nowhere.errors, "cannot read")) << nowhere.errors;
    const auto no_source = run({"switch", "publish", (folder.path() / "document").string()});
    EXPECT_TRUE(has(no_source.errors, "only a switch source arbiter:URL")) << no_source.errors;
}

TEST_F(switch_command, run_says_which_field_of_its_document_is_bad) {
    const auto document = (folder.path() / "document").string();
    std::ofstream{document} << R"({"holdfast": 1, "serial": 1, "groups": {"default": {"mode": "away"}}})";
    std::filesystem::permissions(document, std::filesystem::perms::owner_read);
    std::ofstream{folder.path() / "conf"} << "switch.source = file:" << document << "\n";
    const auto got = run({"--config", (folder.path() / "conf").string(), "run", "-n", "stock", "--", "true"});
    EXPECT_EQ(got.code, 0) << got.errors;
    const auto said = got.errors.find("groups.default.mode must be one of");
    ASSERT_NE(said, std::string::npos) << got.errors;
    EXPECT_EQ(got.errors.find("groups.default.mode", said + 1), std::string::npos) << got.errors;
}

TEST_F(switch_command, dry_run_changes_nothing) {
    const auto would = run({"switch", "fallback", "--dry-run"});
    EXPECT_EQ(would.code, 0);
    EXPECT_TRUE(has(would.output, "would be")) << would.output;
    const auto planned = [&](const char* what) {
        return nlohmann::json::parse(run({"switch", what, "--dry-run", "--json"}).output)["would"];
    };
    const auto steps = [](const std::string& text) { return nlohmann::json::parse(text); };
    EXPECT_EQ(planned("fallback")["steps"], steps(R"([{"in_use": [1, 2]}, {"in_use": [2]}])"));
    EXPECT_EQ(planned("preferred")["steps"], steps("[]"));
    EXPECT_EQ(planned("joint")["steps"], steps(R"([{"in_use": [1, 2]}])"));
    EXPECT_TRUE(planned("joint")["settled"]);
    EXPECT_TRUE(planned("automatic")["automatic"]);
    const auto epoch = [&] { return nlohmann::json::parse(run({"switch", "--json"}).output)["epoch"]; };
    EXPECT_EQ(epoch(), 0) << "nor does a look write the first mode";
    EXPECT_EQ(run({"run", "-n", "stock", "--", "true"}).code, 0);
    EXPECT_EQ(epoch(), 1);
}

TEST_F(switch_command, says_whether_the_group_changes_its_mode_by_itself) {
    const auto on = run({"switch", "auto", "--reason", "night", "--by", "li"});
    EXPECT_EQ(on.code, 0) << on.errors;
    EXPECT_EQ(on.output, "the group changes its mode by itself\n");
    const auto shown = run({"switch"});
    EXPECT_TRUE(has(shown.output, ", says li: night\n")) << shown.output;
    EXPECT_TRUE(nlohmann::json::parse(run({"switch", "--json"}).output)["automation"]["on"]);
    const auto would = run({"switch", "manual", "--dry-run"});
    EXPECT_EQ(would.output, "the group would change its mode by hand only\n");
    EXPECT_EQ(run({"switch", "preferred", "--reason", "morning"}).code, 0);
    EXPECT_FALSE(nlohmann::json::parse(run({"switch", "--json"}).output)["automation"]["on"])
        << "a change by hand ends it, also where nothing else changes";
}

TEST_F(switch_command, refuses_what_makes_no_sense) {
    for (const auto& [arguments, said] :
         {std::pair<words, std::string>{{"switch", "fallback"}, "needs a --reason"},
          {{"switch", "automatic"}, "needs a --reason"},
          {{"switch", "3", "--reason", "x"}, "has 2 levels"},
          {{"switch", "0", "--reason", "x"}, "WHAT"},
          {{"switch", "redis", "--reason", "x"}, "which is no Redis"},
          {{"switch", "pin"}, "needs the number of a level"},
          {{"switch", "pin", "3"}, "has 2 levels"},
          {{"switch", "fallback", "2", "--reason", "x"}, "nothing follows"},
          {{"switch", "sideways", "--reason", "x"}, "is none of show, history"},
          {{"switch", "pin", "x"}, "whole number"},
          {{"switch", "publish", "x", "--dry-run"}, "has no --dry-run"}}) {
        const auto got = run(arguments);
        EXPECT_EQ(got.code, 64) << got.output << got.errors;
        EXPECT_TRUE(has(got.errors, said)) << got.errors;
    }
    auto plain = start_command({"switch"}, {{"HOLDFAST_URL", "sqlite:" + (folder.path() / "one").string()}});
    const auto got = outcome_of(plain);
    EXPECT_NE(got.code, 0);
    EXPECT_TRUE(has(got.errors, "only a joint: URL has a mode")) << got.errors;
}

TEST_F(switch_command, reports_an_arbiter_that_does_not_answer) {
    auto command = start_command({"switch"}, {{"HOLDFAST_URL", url(",arbiter=zk://127.0.0.1:1")}});
    const auto got = outcome_of(command);
    EXPECT_EQ(got.code, 69) << got.errors;
    EXPECT_TRUE(has(got.errors, "the mode is not known")) << got.errors;
}

}  // namespace
}  // namespace holdfast::test::cli
