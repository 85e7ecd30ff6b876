// `holdfast ls`, `inspect`, `evict`, `latch`, and what holds for every command.
#include "server/cli_scene.hpp"
#include "server/scene.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace holdfast::test::cli {
namespace {

class admin_command : public command_test {
  protected:
    // Holds the locks until its input is closed.
    [[nodiscard]] child_process holder_of(const words& names) {
        words all{"run"};
        all.insert(all.end(), names.begin(), names.end());
        for (const auto* word : {"--", "sh", "-c", "echo held; read x"}) all.emplace_back(word);
        auto holder = start(all);
        EXPECT_TRUE(holder.wait_for_output("held", patience));
        return holder;
    }
};

TEST_F(admin_command, ls_lists_held_locks_sorted) {
    auto holder = holder_of({"stock:2", "stock:1", "job"});
    const auto all = run({"ls"});
    EXPECT_EQ(all.code, 0);
    EXPECT_TRUE(all.output.starts_with("job\tmutex\t")) << all.output;
    EXPECT_EQ(std::ranges::count(all.output, '\n'), 3) << "no header without a terminal";
    EXPECT_NE(all.output.find(":" + std::to_string(holder.pid()) + "\t"), std::string::npos);
    EXPECT_LT(all.output.find("stock:1"), all.output.find("stock:2"));
    const auto some = run({"ls", "stock:*"}).output;
    EXPECT_EQ(std::ranges::count(some, '\n'), 2) << some;
}

TEST_F(admin_command, ls_lists_an_exact_name_whatever_its_type) {
    hold_as_another_client("theirs");
    server.command({"RPUSH", "list", "x"});
    EXPECT_EQ(run({"ls"}).output, "");
    EXPECT_TRUE(run({"ls", "theirs"}).output.starts_with("theirs\tforeign string\tanother client\t"));
    EXPECT_TRUE(run({"ls", "list"}).output.starts_with("list\tforeign list\t-\t"));
    EXPECT_EQ(run({"ls", "nothing"}).output, "");
}

TEST_F(admin_command, ls_foreign_lists_likely_owner_tokens_of_other_clients) {
    for (const auto& [name, token] :
         {std::pair<std::string, std::string>{"redis-py", "9d4f0c6c3a6a11ef8d3a0242ac120002"},
          {"redsync", "Q2h1Y2sgTm9ycmlzIHdhcw=="},
          {"lock:python", "aGVsbG8gd29ybGQgYWdhaW4h"},
          {"node-redlock", "f3b0c44298fc1c149afbf4c8996fb924"},
          {"spring", "3f333df6-90a4-4fda-8dd3-9485d27cee36"}})
        server.command({"SET", name, token, "PX", "60000"});
    server.command({"SET", "no expiry", "9d4f0c6c3a6a11ef8d3a0242ac120002"});
    server.command({"SET", "sentence", "this is a text of somebody", "PX", "60000"});
    server.command({"SET", "json", "{\"cart\":[1,2,3,4,5]}", "PX", "60000"});
    server.command({"SET", "flag", "1", "PX", "60000"});
    auto holder = holder_of({"ours"});
    const auto all = nlohmann::json::parse(run({"ls", "--foreign", "--json"}).output);
    words names;
    for (const auto& lock : all) names.push_back(lock["name"]);
    EXPECT_EQ(names, (words{"lock:python", "node-redlock", "ours", "redis-py", "redsync", "spring"}));
    EXPECT_TRUE(run({"ls"}).output.starts_with("ours\t"));
    EXPECT_NE(run({"ls", "--help"}).output.find("Left out"), std::string::npos);
}

TEST_F(admin_command, ls_without_locks_is_no_error) {
    const auto none = run({"ls"});
    EXPECT_EQ(none.code, 0);
    EXPECT_EQ(none.output, "");
    EXPECT_EQ(run({"ls", "--json"}).output, "[]\n");
}

TEST_F(admin_command, json_is_valid_for_any_name) {
    auto holder = holder_of({"\xff\xfe", "new\nline", "[a,b]", "\u00e9"});
    const auto all = nlohmann::json::parse(run({"ls", "--json"}).output);
    words names;
    for (const auto& lock : all) names.push_back(lock["name"]);
    std::ranges::sort(names);
    EXPECT_EQ(names, (words{"[a,b]", "\\xff\\xfe", "new\nline", "\u00e9"}));
}

TEST_F(admin_command, control_characters_in_names_are_escaped) {
    auto holder = holder_of({"a\x1b[2Jb"});
    EXPECT_TRUE(run({"ls"}).output.starts_with("a\\x1b[2Jb\t"));
    EXPECT_TRUE(run({"inspect", "a\x1b[2Jb"}).output.starts_with("lock     a\\x1b[2Jb\n"));
}

TEST_F(admin_command, bidirectional_controls_in_names_are_shown_as_bytes) {
    const std::string name = "pay\u202elruc\u200b";
    const std::string shown = R"(pay\xe2\x80\xaelruc\xe2\x80\x8b)";
    auto holder = holder_of({name});
    EXPECT_TRUE(run({"ls"}).output.starts_with(shown + "\t"));
    EXPECT_TRUE(run({"inspect", name}).output.starts_with("lock     " + shown + "\n"));
    EXPECT_EQ(run({"ls", "--json"}).output.find('\xe2'), std::string::npos);
    server.command({"HSET", "\u2066" + name, "some", "data"});
    EXPECT_NE(run({"evict", "--yes", "\u2066" + name}).errors.find(R"("\xe2\x81\xa6)" + shown),
              std::string::npos);
    const auto unknown = run({"l\u202es"});
    EXPECT_EQ(unknown.errors.find('\xe2'), std::string::npos) << unknown.errors;
    const auto no_option = run({"ls", "--\u202ex"});
    EXPECT_EQ(no_option.errors.find('\xe2'), std::string::npos) << no_option.errors;
}

TEST_F(admin_command, inspect_identifies_a_holder_of_ours) {
    auto holder = holder_of({"a"});
    const auto text = run({"inspect", "a"});
    EXPECT_EQ(text.code, 0);
    EXPECT_NE(text.output.find("kind     mutex\n"), std::string::npos) << text.output;
    EXPECT_NE(text.output.find("pid " + std::to_string(holder.pid())), std::string::npos) << text.output;
    const auto json = nlohmann::json::parse(run({"inspect", "a", "--json"}).output);
    EXPECT_EQ(json["held"], true);
    EXPECT_EQ(json["ours"], true);
    EXPECT_EQ(json["holders"][0]["pid"], holder.pid());
    EXPECT_EQ(json["holders"][0]["connected"], true);
    EXPECT_GT(json["ttl_ms"], 20'000);
}

TEST_F(admin_command, inspect_shows_the_waiters) {
    auto holder = holder_of({"a"});
    auto waiter = start({"run", "--json-fd", "1", "a", "--", "true"});
    ASSERT_TRUE(waiter.wait_for_output("\"waiting\"", patience));
    EXPECT_TRUE(eventually(patience, [&] {
        const auto json = nlohmann::json::parse(run({"inspect", "a", "--json"}).output);
        return json["queue"].size() == 1 && json["queue"][0]["pid"] == waiter.pid();
    }));
    EXPECT_NE(run({"inspect", "a"}).output.find("queue    1 waiting"), std::string::npos);
}

TEST_F(admin_command, inspect_marks_a_lock_of_another_client_as_foreign) {
    hold_as_another_client("a");
    const auto text = run({"inspect", "a"});
    EXPECT_EQ(text.code, 0);
    EXPECT_NE(text.output.find("foreign: written by another client"), std::string::npos) << text.output;
    EXPECT_NE(text.output.find("owner    foreign\n"), std::string::npos) << text.output;
}

TEST_F(admin_command, inspect_shows_a_free_lock) {
    const auto text = run({"inspect", "a"});
    EXPECT_EQ(text.code, 0);
    EXPECT_NE(text.output.find("free"), std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(run({"inspect", "a", "--json"}).output)["held"], false);
    EXPECT_EQ(run({"inspect", "--", "-a"}).code, 0);
}

TEST_F(admin_command, evict_without_a_terminal_needs_yes) {
    hold_as_another_client("a");
    EXPECT_EQ(run({"evict", "a"}).code, 64);
    EXPECT_TRUE(is_held("a"));
    EXPECT_EQ(run({"evict", "--yes", "a"}).code, 0);
    EXPECT_FALSE(is_held("a"));
    EXPECT_EQ(run({"evict", "--yes", "a"}).code, 1);
    EXPECT_EQ(run({"evict", "--yes", "--json", "a"}).output,
              "{\"name\":\"a\",\"evicted\":false,\"from\":[],\"gone\":[],\"held_by\":null,\"not_shown\":0,"
              "\"dead_waiters\":0,\"waiters_back\":0}\n");
}

// As a killed Redisson client leaves it: the lock has no key, and Redisson's clients wait for the limit.
TEST_F(admin_command, dead_waiter_that_blocks_a_free_lock_is_shown_and_removed) {
    const std::string queue = "redisson_lock_queue:{job}";
    const auto now = std::stoll(server.command({"TIME"}).items[0].text) * 1000;
    server.command({"RPUSH", queue, "0d2b3c47-0c5e-4a45-9f9e-000000000000:41"});
    server.command({"ZADD", "redisson_lock_timeout:{job}", std::to_string(now + 26'020'000),
                    "0d2b3c47-0c5e-4a45-9f9e-000000000000:41"});
    const auto shown = run({"inspect", "job"}).output;
    EXPECT_NE(shown.find("free, but 1 dead waiter in the queue blocks it for 7h13m\n"), std::string::npos)
        << shown;
    EXPECT_NE(shown.find("another client, owner 0d2b3c47-0c5e-4a45-9f9e-000000000000:41\n"),
              std::string::npos)
        << shown;
    const auto json = nlohmann::json::parse(run({"inspect", "job", "--json"}).output);
    EXPECT_EQ(json["held"], false);
    EXPECT_EQ(json["dead_waiters"], 1);
    EXPECT_GT(json["blocked_ms"], 25'000'000);
    for (const words& all : {words{"ls"}, words{"ls", "jo*"}, words{"ls", "--kind", "fair_mutex"}}) {
        const auto listed = run(all).output;
        EXPECT_EQ(listed, "job\tfree\tnobody, but 1 dead waiter in the queue blocks it for 7h13m\tnone\n")
            << listed;
    }
    EXPECT_EQ(run({"evict", "--yes", "job"}).code, 0);
    EXPECT_FALSE(exists(server, queue));
    EXPECT_EQ(run({"ls"}).output, "");
    EXPECT_EQ(run({"evict", "--yes", "job"}).code, 1);
}

TEST_F(admin_command, evict_hands_the_lock_to_the_waiter) {
    auto holder = holder_of({"a"});
    auto waiter = start({"run", "--json-fd", "1", "a", "--", "echo", "in"});
    ASSERT_TRUE(waiter.wait_for_output("\"waiting\"", patience));
    EXPECT_EQ(run({"evict", "--yes", "a"}).code, 0);
    EXPECT_EQ(outcome_of(waiter).code, 0);
    EXPECT_EQ(outcome_of(holder).code, 75);
}

TEST_F(admin_command, unreachable_store_exits_with_69) {
    const auto url = server.url();
    server.stop();
    for (const words& arguments : {words{"inspect", "a"}, words{"evict", "--yes", "a"}, words{"ls"}}) {
        const stopwatch since;
        const auto refused = run(arguments);
        EXPECT_LT(since.took(), config{}.answer_timeout + slack);
        EXPECT_EQ(refused.code, 69) << refused.errors;
        EXPECT_EQ(std::ranges::count(refused.errors, '\n'), 1) << refused.errors;
    }
}

TEST_F(admin_command, misuse_exits_with_64_and_one_sentence) {
    const temp_dir folder;
    const auto file = (folder.path() / "holdfast.conf").string();
    std::ofstream{file} << "# mine\nleese = 5s\n";
    const std::vector<std::pair<words, std::string>> wrong{
        {{}, "a command is missing; see holdfast --help"},
        {{"lock"}, "there is no command \"lock\"; see holdfast --help"},
        {{"--frob", "ls"}, "there is no option \"--frob\"; see holdfast ls --help"},
        {{"ls", "a", "b"}, "the argument \"b\" is one too many; see holdfast ls --help"},
        {{"ls", "\x1b[2J", "\x1b[2J"}, "the argument \"\\x1b[2J\" is one too many; see holdfast ls --help"},
        {{"--url", "a", "--url", "b", "ls"},
         "give only one --url; for a lock on several servers use redlock:URL,URL,URL"},
    };
    for (const auto& [arguments, sentence] : wrong) {
        const auto refused = run(arguments);
        EXPECT_EQ(refused.code, 64) << sentence;
        EXPECT_EQ(refused.errors, "holdfast: " + sentence + "\n");
    }
    const auto refused = run({"--config", file, "ls"});
    EXPECT_EQ(refused.code, 64);
    EXPECT_TRUE(refused.errors.starts_with("holdfast: " + file + ":2: \"leese\" is not a setting"))
        << refused.errors;
}

TEST_F(admin_command, url_of_the_command_line_overrides_the_environment) {
    const auto with_url = run({"--url", server.url(), "ls"}, {});
    EXPECT_EQ(with_url.code, 0);
    auto wrong = start_command({"--url", server.url(), "ls"}, {{"HOLDFAST_URL", "redis://127.0.0.1:1"}});
    EXPECT_EQ(outcome_of(wrong).code, 0);
}

TEST_F(admin_command, every_command_has_help_with_examples) {
    for (const words& arguments :
         {words{"--help"}, words{"run", "--help"}, words{"ls", "--help"}, words{"inspect", "--help"},
          words{"evict", "--help"}, words{"doctor", "--help"}}) {
        const auto help = run(arguments);
        EXPECT_EQ(help.code, 0);
        EXPECT_NE(help.output.find("Examples:"), std::string::npos);
        EXPECT_EQ(help.errors, "");
    }
    EXPECT_TRUE(run({"--version"}).output.starts_with("holdfast "));
}

TEST_F(admin_command, ls_filters_by_kind) {
    auto mutexes = holder_of({"job"});
    auto fair = holder_of({"--kind", "fair", "stock"});
    auto waiter = start({"run", "--kind", "fair", "stock", "--", "true"});
    auto permits = holder_of({"--permits", "2", "--of", "3", "render"});
    auto ids = holder_of({"--kind", "permits", "--of", "3", "paint"});
    auto fenced = holder_of({"--kind", "fenced", "ledger"});
    ASSERT_TRUE(test::eventually(patience, [&] {
        return server.command({"EXISTS", "redisson_lock_queue:{stock}"}).number == 1;
    }));
    const auto all = run({"ls"}).output;
    EXPECT_EQ(std::ranges::count(all, '\n'), 5) << all;
    for (const auto& [kind, name] :
         std::vector<std::pair<std::string, std::string>>{{"mutex", "job"},
                                                          {"fair_mutex", "stock"},
                                                          {"fenced_mutex", "ledger"},
                                                          {"counting_semaphore", "render"},
                                                          {"permit_semaphore", "paint"}}) {
        const auto some = run({"ls", "--kind", kind}).output;
        EXPECT_TRUE(some.starts_with(name + "\t" + kind + "\t")) << some;
        EXPECT_EQ(std::ranges::count(some, '\n'), 1) << some;
    }
    EXPECT_EQ(run({"ls", "--kind", "nonsense"}).code, 64);
}

TEST_F(admin_command, inspect_shows_permits) {
    auto holder = holder_of({"--permits", "2", "--of", "3", "render"});
    const auto shown = run({"inspect", "render"}).output;
    EXPECT_NE(shown.find("counting_semaphore"), std::string::npos) << shown;
    EXPECT_NE(shown.find("free     1\n"), std::string::npos) << shown;
    EXPECT_NE(shown.find(", pid " + std::to_string(holder.pid())), std::string::npos) << shown;
    EXPECT_NE(shown.find(", 2 permits, connected"), std::string::npos) << shown;
    const auto json = nlohmann::json::parse(run({"inspect", "render", "--json"}).output);
    EXPECT_EQ(json["count"], 1);
    EXPECT_EQ(json["holders"][0]["holds"], 2);
    server.command({"SET", "number", "7"});
    const auto number = run({"inspect", "number"}).output;
    EXPECT_NE(number.find("or some other number"), std::string::npos) << number;
}

TEST_F(admin_command, inspect_identifies_permit_ids_of_ours) {
    auto holder = holder_of({"--kind", "permits", "--permits", "2", "--of", "3", "paint"});
    const auto json = nlohmann::json::parse(run({"inspect", "paint", "--json"}).output);
    EXPECT_EQ(json["ours"], true);
    ASSERT_EQ(json["holders"].size(), 2U);
    for (const auto& permit : json["holders"]) {
        EXPECT_EQ(permit["pid"], holder.pid());
        EXPECT_EQ(permit["connected"], true);
        EXPECT_FALSE(permit["since"].is_null());
    }
    // Beside a permit of Redisson's.
    const auto soon = std::to_string(std::chrono::system_clock::now().time_since_epoch() / 1ms + 60'000);
    server.command({"ZADD", "{paint}:timeout", soon, "0123456789abcdef"});
    const auto both = run({"inspect", "paint"}).output;
    EXPECT_NE(both.find("holder   another client\nowner    30313233343536373839616263646566\n"),
              std::string::npos)
        << both;
    server.command({"ZREMRANGEBYRANK", "{paint}:timeout", "0", "1"});
    EXPECT_EQ(nlohmann::json::parse(run({"inspect", "paint", "--json"}).output)["ours"], false);
}

TEST_F(admin_command, expired_permits_have_no_holder) {
    auto holder = holder_of({"--permits", "2", "--of", "3", "render"});
    server.command({"ZADD", "holdfast:p1:{render}", "1", "AAAAAAAAAAAAAAAAAAAAAA|1|7"});
    auto json = nlohmann::json::parse(run({"inspect", "render", "--json"}).output);
    EXPECT_EQ(json["holders"].size(), 1U);
    EXPECT_EQ(json["count"], 8);
    server.command({"DEL", "holdfast:p1:{render}"});
    server.command({"ZADD", "holdfast:p1:{render}", "1", "AAAAAAAAAAAAAAAAAAAAAA|1|2"});
    json = nlohmann::json::parse(run({"inspect", "render", "--json"}).output);
    EXPECT_EQ(json["kind"], "counter");
    EXPECT_EQ(json["held"], false);
    EXPECT_EQ(json["count"], 3);
    EXPECT_EQ(run({"ls"}).output, "");
}

TEST_F(admin_command, permits_that_are_not_listed_are_counted) {
    auto holder = holder_of({"--kind", "permits", "--permits", "40", "--of", "50", "paint"});
    const auto json = nlohmann::json::parse(run({"inspect", "paint", "--json"}).output);
    EXPECT_EQ(json["holders"].size(), 32U);
    EXPECT_EQ(json["more_holders"], 8);
    EXPECT_NE(run({"inspect", "paint"}).output.find("and 8 more\n"), std::string::npos);
    EXPECT_NE(run({"ls"}).output.find(" +39\t"), std::string::npos);
}

TEST_F(admin_command, inspect_counts_all_readers_of_a_lock) {
    words readers{"HSET", "atlas", "mode", "read"};
    for (int i = 0; i < 200; ++i) {
        readers.push_back("8743c9c0-0795-4907-87fd-6c719a6b4586:" + std::to_string(i));
        readers.emplace_back("1");
    }
    server.command(readers);
    const auto json = nlohmann::json::parse(run({"inspect", "atlas", "--json"}).output);
    EXPECT_EQ(json["kind"], "shared_mutex");
    EXPECT_EQ(json["holders"].size() + json["more_holders"].get<std::size_t>(), 200U);
    EXPECT_NE(run({"ls"}).output.find("atlas"), std::string::npos);
    EXPECT_EQ(run({"evict", "--yes", "atlas"}).code, 0);
    EXPECT_FALSE(is_held("atlas"));
}

TEST_F(admin_command, user_hash_with_a_mode_field_is_no_lock) {
    server.command({"HSET", "settings", "mode", "read", "path", "/x"});
    server.command({"HSET", "theme", "mode", "dark"});
    for (const auto* name : {"settings", "theme"}) {
        EXPECT_EQ(nlohmann::json::parse(run({"inspect", name, "--json"}).output)["kind"], "foreign hash");
        EXPECT_NE(run({"evict", "--yes", name}).code, 0);
        EXPECT_TRUE(is_held(name));
    }
    EXPECT_EQ(run({"ls"}).output, "");
}

TEST_F(admin_command, ls_shows_locks_named_like_our_own_keys) {
    for (const auto* name : {"holdfast:demo", "holdfast:orders", "holdfast:payments"})
        server.command({"SET", name, "AAAAAAAAAAAAAAAAAAAAAA|1732147200000000", "PX", "60000"});
    server.command({"SET", "holdfast:f1:{a}", "AAAAAAAAAAAAAAAAAAAAAA|1732147200000000"});
    const auto all = run({"ls"}).output;
    EXPECT_NE(all.find("holdfast:demo"), std::string::npos) << all;
    EXPECT_NE(all.find("holdfast:orders"), std::string::npos) << all;
    EXPECT_NE(all.find("holdfast:payments"), std::string::npos) << all;
    EXPECT_EQ(all.find("holdfast:f1"), std::string::npos) << all;
}

TEST_F(admin_command, long_queue_is_counted_completely) {
    words waiters{"RPUSH", "redisson_lock_queue:{print}"};
    for (int i = 0; i < 150; ++i)
        waiters.push_back("8743c9c0-0795-4907-87fd-6c719a6b4586:" + std::to_string(i));
    server.command(waiters);
    EXPECT_NE(run({"inspect", "print"}).output.find("150 waiting\n"), std::string::npos);
    const auto json = nlohmann::json::parse(run({"inspect", "print", "--json"}).output);
    EXPECT_EQ(json["queue"].size(), 100U);
    EXPECT_EQ(json["more_waiting"], 50);
}

// Output larger than the stdio buffer fails when it is written, smaller output when it is flushed.
TEST_F(admin_command, output_that_cannot_be_written_exits_with_74_whatever_its_size) {
    const auto code_of = [&](const std::string& what) {
        auto full = start_shell("exec \"$0\" " + what + " > /dev/full");
        const auto ended = outcome_of(full);
        EXPECT_NE(ended.errors.find("holdfast: the output cannot be written"), std::string::npos)
            << ended.errors;
        return ended.code;
    };
    const auto hold = [&](const std::string& name) {
        server.command({"HSET", name, "8743c9c0-0795-4907-87fd-6c719a6b4586:1", "1"});
        server.command({"PEXPIRE", name, "60000"});
    };
    hold("job");
    EXPECT_EQ(code_of("ls"), 74);
    EXPECT_EQ(code_of("doctor --json"), 74);
    for (int i = 0; i < 300; ++i) hold("job" + std::to_string(i));
    EXPECT_EQ(code_of("ls"), 74);
    EXPECT_EQ(code_of("ls --json"), 74);
}

// timeout(1) sends TERM to the process and to its group.
TEST_F(admin_command, two_signals_at_once_count_as_one) {
    server.command({"HSET", "fair", "8743c9c0-0795-4907-87fd-6c719a6b4586:1", "1"});
    for (int round = 0; round < 5; ++round) {
        auto waiting = start({"run", "--kind", "fair", "fair", "--", "true"});
        ASSERT_TRUE(eventually(patience, [&] {
            return server.command({"LLEN", "redisson_lock_queue:{fair}"}).number == 1;
        }));
        waiting.signal(SIGTERM);
        waiting.signal(SIGHUP);
        EXPECT_GT(outcome_of(waiting).code, 128);
        EXPECT_EQ(server.command({"LLEN", "redisson_lock_queue:{fair}"}).number, 0);
    }
}

// --- latch ------------------------------------------------------------------------------------------

TEST_F(admin_command, latch_opens_when_counted_down) {
    EXPECT_EQ(run({"latch", "ready", "set", "2"}).code, 0);
    EXPECT_EQ(run({"latch", "ready", "set", "2"}).code, 1);
    EXPECT_EQ(run({"latch", "ready", "count"}).output, "2\n");
    EXPECT_EQ(run({"latch", "ready", "wait", "--wait", "2s"}).code, 1);
    auto waiter = start({"latch", "ready", "wait"});
    EXPECT_EQ(run({"latch", "ready", "down"}).output, "1\n");
    const auto last = nlohmann::json::parse(run({"latch", "ready", "down", "--json"}).output);
    EXPECT_EQ(last["count"], 0);
    EXPECT_EQ(outcome_of(waiter).code, 0);
    EXPECT_EQ(run({"latch", "ready", "erase"}).code, 1);
    EXPECT_EQ(run({"latch", "ready", "wait"}).code, 0);
    EXPECT_EQ(run({"latch", "ready", "set", "010"}).code, 0);
    EXPECT_EQ(run({"latch", "ready", "count"}).output, "10\n");
}

TEST_F(admin_command, latch_prints_the_count_if_it_is_known) {
    const auto output_of = [&](words act) {
        act.insert(act.begin(), {"latch", "ready", "--json"});
        return run(act).output;
    };
    EXPECT_EQ(output_of({"set", "2"}), "{\"name\":\"ready\",\"done\":true,\"count\":2}\n");
    EXPECT_EQ(output_of({"set", "3"}), "{\"name\":\"ready\",\"done\":false}\n");
    EXPECT_EQ(output_of({"wait", "--wait", "2s"}), "{\"name\":\"ready\",\"done\":false}\n");
    EXPECT_EQ(output_of({"down"}), "{\"name\":\"ready\",\"done\":true,\"count\":1}\n");
    EXPECT_EQ(output_of({"erase"}), "{\"name\":\"ready\",\"done\":true,\"count\":0}\n");
    EXPECT_EQ(output_of({"wait", "--wait", "10s"}), "{\"name\":\"ready\",\"done\":true,\"count\":0}\n");
    EXPECT_EQ(output_of({"wait"}), "{\"name\":\"ready\",\"done\":true,\"count\":0}\n");
}

TEST_F(admin_command, latch_errors_do_not_mention_a_lock) {
    server.command({"SET", "job", "a token"});
    for (const words& act : {words{"latch", "job", "wait"}, words{"latch", "job", "down"}}) {
        const auto refused = run(act);
        EXPECT_EQ(refused.code, 64);
        EXPECT_EQ(refused.errors.find("lock"), std::string::npos) << refused.errors;
    }
    server.stop();
    const auto silent = run({"latch", "job", "wait", "--wait", "300ms"});
    EXPECT_EQ(silent.code, 69);
    EXPECT_TRUE(silent.errors.starts_with("holdfast: the latch \"job\" could not be waited for"))
        << silent.errors;
}

TEST_F(admin_command, latch_misuse_exits_with_64) {
    for (const auto& wrong : std::vector<words>{{"latch", "ready"},
                                                {"latch", "ready", "set"},
                                                {"latch", "ready", "set", "0"},
                                                {"latch", "ready", "wait", "3"},
                                                {"latch", "ready", "down", "--wait", "1s"},
                                                {"latch", "ready", "dance"}}) {
        const auto refused = run(wrong);
        EXPECT_EQ(refused.code, 64) << refused.errors;
        EXPECT_FALSE(refused.errors.empty());
    }
    hold_as_another_client("job");
    EXPECT_EQ(run({"latch", "job", "down"}).code, 64);
    EXPECT_EQ(server.command({"GET", "job"}).text, "foreign");
}

}  // namespace
}  // namespace holdfast::test::cli
