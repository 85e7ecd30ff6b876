// `holdfast doctor`: what it prints, and its exit codes.
#include "server/cli_scene.hpp"
#include "server/moved_clock.hpp"
#include "server/scene.hpp"
#include "support/certificates.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace holdfast::test::cli {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class doctor_command : public command_test {
  protected:
    // Leaves no findings but notes.
    void cure() {
        for (const auto& [name, value] : {std::pair{"appendonly", "yes"}, std::pair{"appendfsync", "always"}})
            ASSERT_EQ(server.command({"CONFIG", "SET", name, value}).text, "OK");
    }
    void give_alice(const std::string& rules) {
        words all{"ACL", "SETUSER", "alice", "reset", "on", ">hunter22"};
        std::istringstream in{rules};
        for (std::string rule; in >> rule;) all.push_back(rule);
        ASSERT_EQ(server.command(all).text, "OK");
    }
    std::string url_of_alice() const {
        return "redis://alice:hunter22@127.0.0.1:" + std::to_string(server.port());
    }
};

TEST_F(doctor_command, names_each_problem_and_its_remedy) {
    const auto sick = run({"doctor"});
    EXPECT_EQ(sick.code, 2) << sick.output;
    EXPECT_EQ(sick.errors, "");
    EXPECT_TRUE(sick.output.starts_with("127.0.0.1:" + std::to_string(server.port()) + "  Redis 7."))
        << sick.output;
    EXPECT_TRUE(has(sick.output, "\nDANGER\n  persistence  (S2 falls)\n")) << sick.output;
    EXPECT_TRUE(has(sick.output, "\n      mend: CONFIG SET appendonly yes")) << sick.output;
    EXPECT_TRUE(has(sick.output, "\nwell: version, role, ")) << sick.output;
    cure();
    const auto well = run({"doctor"});
    EXPECT_EQ(well.code, 0) << well.output;
    EXPECT_FALSE(has(well.output, "DANGER"));
    EXPECT_FALSE(has(well.output, "WARNING"));
    EXPECT_TRUE(has(well.output, "NOTE\n"));
}

TEST_F(doctor_command, exits_with_the_code_of_the_worst_finding) {
    cure();
    EXPECT_EQ(run({"doctor"}).code, 0);
    server.command({"CONFIG", "SET", "busy-reply-threshold", "0"});
    EXPECT_EQ(run({"doctor"}).code, 1);
    server.command({"CONFIG", "SET", "maxmemory", "100mb"});
    server.command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
    EXPECT_EQ(run({"doctor"}).code, 2);
    server.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
    server.command({"CONFIG", "SET", "busy-reply-threshold", "5000"});
    EXPECT_EQ(run({"doctor"}).code, 0);
    // Unknown is not well.
    give_alice("~* &* +@all -info");
    const auto blind = run({"--url", url_of_alice(), "doctor"});
    EXPECT_EQ(blind.code, 1);
    EXPECT_TRUE(has(blind.output, "COULD NOT LOOK\n")) << blind.output;
    // A setting that no promise rests on may stay unknown.
    give_alice("~* &* +@all -config");
    const auto most = run({"--url", url_of_alice(), "doctor", "--json"});
    const auto json = nlohmann::json::parse(most.output);
    EXPECT_EQ(json["worst"], "warning") << most.output;  // slow-scripts
    EXPECT_EQ(most.code, 1);
}

TEST_F(doctor_command, quiet_prints_only_problems) {
    cure();
    EXPECT_EQ(run({"doctor", "--quiet"}).output, "");
    server.command({"CONFIG", "SET", "busy-reply-threshold", "0"});
    const auto printed = run({"doctor", "-q"}).output;
    EXPECT_TRUE(printed.starts_with("WARNING\n  slow-scripts  (S3 falls)\n")) << printed;
    EXPECT_FALSE(has(printed, "NOTE"));
    EXPECT_FALSE(has(printed, "well:"));
}

TEST_F(doctor_command, prints_json) {
    const auto out = run({"doctor", "--json"});
    EXPECT_EQ(out.code, 2);
    EXPECT_EQ(std::ranges::count(out.output, '\n'), 1);
    const auto json = nlohmann::json::parse(out.output);
    EXPECT_EQ(json["worst"], "danger");
    ASSERT_EQ(json["servers"].size(), 1U);
    const auto& server_of = json["servers"][0];
    EXPECT_EQ(server_of["address"], "127.0.0.1:" + std::to_string(server.port()));
    EXPECT_EQ(server_of["role"], "master");
    for (const auto* number : {"clock_offset_ms", "clock_error_ms", "round_trip_ms"})
        EXPECT_TRUE(server_of[number].is_number()) << number;
    ASSERT_GT(json["findings"].size(), 10U);
    for (const auto& f : json["findings"]) {
        EXPECT_TRUE(f["id"].is_string() && f["found"].is_string() && f["meaning"].is_string()) << f;
        EXPECT_EQ(f["server"] == server_of["address"], f["id"] != "own-clock") << f;
        EXPECT_EQ(f["mending"].is_null(), f["severity"] == "ok") << f;
    }
    const auto persistence =
        std::ranges::find_if(json["findings"], [](const auto& f) { return f["id"] == "persistence"; });
    ASSERT_NE(persistence, json["findings"].end());
    EXPECT_EQ((*persistence)["severity"], "danger");
    EXPECT_EQ((*persistence)["promise"], "S2");
}

TEST_F(doctor_command, names_the_missing_rights) {
    cure();
    give_alice("~job resetchannels +@all");
    const auto printed = run({"--url", url_of_alice(), "doctor", "job"});
    EXPECT_EQ(printed.code, 1);
    EXPECT_TRUE(has(printed.output, "mend: ACL SETUSER alice ~holdfast:q1:{job} &holdfast:wake:*\n"))
        << printed.output;
    const auto fair = run({"--url", url_of_alice(), "doctor", "--kind", "fair", "job"});
    EXPECT_EQ(fair.code, 2);
    EXPECT_TRUE(has(fair.output, " ~redisson_lock_queue:{job} ")) << fair.output;
    EXPECT_FALSE(has(printed.output + fair.output, "hunter22"));
    // The error of `run` refers to `doctor`.
    const auto locking = run({"--url", url_of_alice(), "run", "elsewhere", "--", "true"});
    EXPECT_EQ(locking.code, 69);
    EXPECT_TRUE(has(locking.errors, "missing is the right to a key; holdfast doctor NAME prints"))
        << locking.errors;
}

TEST_F(doctor_command, compares_several_servers) {
    redis_server other;
    const auto two = run({"doctor", "--url", server.url(), "--url", other.url(), "--json"}, {});
    EXPECT_EQ(two.code, 2);
    const auto json = nlohmann::json::parse(two.output);
    EXPECT_EQ(json["servers"].size(), 2U);
    const auto has_id = [&](const nlohmann::json& in, const char* id) {
        return std::ranges::any_of(in["findings"], [&](const auto& f) { return f["id"] == id; });
    };
    EXPECT_TRUE(has_id(json, "clocks-apart"));
    EXPECT_FALSE(has_id(json, "same-server"));
    const auto twice = run({"doctor", "--url", server.url(), "--url", server.url()});
    EXPECT_TRUE(has(twice.output, "\n  same-server  127.0.0.1:")) << twice.output;
}

TEST_F(doctor_command, unreachable_server_exits_with_69_and_the_others_are_examined) {
    redis_server other;
    const auto gone = other.url();
    other.stop();
    const auto both = run({"doctor", "--url", gone, "--url", server.url()});
    EXPECT_EQ(both.code, 69);
    EXPECT_TRUE(has(both.output, "unreachable")) << both.output;
    EXPECT_TRUE(has(both.output, "well: ")) << both.output;
    EXPECT_EQ(std::ranges::count(both.errors, '\n'), 1) << both.errors;
    const auto alone = run({"doctor", "--url", gone, "--json"});
    EXPECT_EQ(alone.code, 69);
    EXPECT_EQ(nlohmann::json::parse(alone.output)["findings"][0]["id"], "unreachable");
    const auto wrong =
        run({"doctor", "--url", "redis://bob:secret@127.0.0.1:" + std::to_string(server.port())});
    EXPECT_EQ(wrong.code, 69);
    EXPECT_FALSE(has(wrong.output + wrong.errors, "secret")) << wrong.output << wrong.errors;
}

// The URL may be right: the fault is the server's.
TEST_F(doctor_command, rejected_certificate_exits_with_69_and_the_others_are_examined) {
    const temp_dir folder;
    const certificate_authority ca{folder.path(), "ca"};
    const auto server_with = [&](const certificate& own) {
        redis_server::options o;
        o.secured = redis_server::tls{own, ca.file(), redis_server::client_certificates::unwanted};
        return o;
    };
    const auto url_of = [&](const redis_server& s, const std::string& scheme = "rediss://",
                            const std::string& rest = {}) {
        return scheme + "127.0.0.1:" + std::to_string(s.tls_port()) + rest + "?ca=" + ca.file();
    };
    redis_server over{server_with(ca.issue("over", "IP:127.0.0.1", certificate_authority::validity::over))};
    redis_server another{server_with(ca.issue("another", "IP:127.0.0.9"))};
    for (const auto& url : {url_of(over), url_of(another), url_of(over, "rediss+cluster://"),
                            url_of(over, "rediss+sentinel://", "/orders")}) {
        const auto refused = run({"doctor", "--url", url, "--url", server.url(), "--json"});
        EXPECT_EQ(refused.code, 69) << url << refused.errors;
        const auto json = nlohmann::json::parse(refused.output);
        EXPECT_EQ(json["servers"].size(), 1U) << url;
        const auto f = std::ranges::find_if(json["findings"],
                                            [](const auto& one) { return one["id"] == "unreachable"; });
        ASSERT_NE(f, json["findings"].end()) << refused.output;
        EXPECT_EQ((*f)["severity"], "danger");
        EXPECT_TRUE(has((*f)["found"], "is not accepted: ")) << *f;
    }
}

TEST_F(doctor_command, address_of_a_sentinel_exits_with_64_and_names_the_right_url) {
    redis_server sentinel{
        {.sentinel = true,
         .config = {"sentinel monitor orders 127.0.0.1 " + std::to_string(server.port()) + " 1"}}};
    const auto address = "127.0.0.1:" + std::to_string(sentinel.port());
    for (const words& asked : {words{"doctor", "--url", sentinel.url()},
                               words{"run", "--url", sentinel.url(), "job", "--", "true"}}) {
        const auto refused = run(asked);
        EXPECT_EQ(refused.code, 64) << refused.output;
        EXPECT_TRUE(has(refused.errors, address + " is a Sentinel")) << refused.errors;
        EXPECT_TRUE(has(refused.errors, "redis+sentinel://" + address + "/NAME")) << refused.errors;
    }
}

TEST_F(doctor_command, run_on_a_replica_says_that_it_is_one) {
    ASSERT_EQ(server.command({"CONFIG", "SET", "repl-diskless-sync-delay", "0"}).text, "OK");
    redis_server replica{{.config = {"replicaof 127.0.0.1 " + std::to_string(server.port())}}};
    ASSERT_TRUE(eventually(patience, [&] {
        return has(replica.command({"INFO", "replication"}).text, "master_link_status:up");
    }));
    const auto refused = run({"run", "--url", replica.url(), "job", "--", "true"});
    EXPECT_EQ(refused.code, 69) << refused.errors;
    EXPECT_TRUE(has(refused.errors, "the server is a replica, which grants no locks")) << refused.errors;
    EXPECT_TRUE(has(refused.errors, "redis+sentinel://")) << refused.errors;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they must be preloaded first
// The command's clock is set while a reply is on its way.
TEST_F(doctor_command, reports_that_its_own_clock_was_set) {
    moved_clock clock{"command"};
    fault_proxy net{server};
    const auto look = [&](std::chrono::seconds by) {
        net.hold_reply_of(named("TIME"));
        auto doctor = start({"doctor", "--json", "--url", net.url()}, clock.environment());
        EXPECT_TRUE(eventually(patience, [&] { return net.count().replies_held == 1; }));
        clock.step(by);
        net.release_replies();
        return nlohmann::json::parse(outcome_of(doctor).output);
    };
    const auto of = [](const nlohmann::json& in, const char* id) {
        const auto f = std::ranges::find_if(in["findings"], [&](const auto& one) { return one["id"] == id; });
        return f == in["findings"].end() ? nlohmann::json{} : *f;
    };
    EXPECT_EQ(of(look(0s), "own-clock")["severity"], "ok");
    const auto set = look(90s);
    EXPECT_EQ(of(set, "own-clock")["severity"], "warning") << set;
    EXPECT_EQ(of(set, "own-clock")["server"], "this machine");
    // Two clocks that are read one after the other give no more precision.
    EXPECT_TRUE(has(of(set, "own-clock")["found"], "set forwards by 1m")) << set;
    EXPECT_TRUE(has(of(look(-90s), "own-clock")["found"], "set back by")) << "and back";
}
#endif

TEST_F(doctor_command, misuse_exits_with_64) {
    for (const words& wrong :
         {words{"doctor", "a", "b"}, words{"doctor", ""}, words{"doctor", "--kind", "odd"},
          words{"doctor", "--url", "nonsense"}, words{"doctor", "--url", "redis://h?x=1"}}) {
        const auto refused = run(wrong);
        EXPECT_EQ(refused.code, 64) << refused.errors;
        EXPECT_TRUE(refused.errors.starts_with("holdfast: ")) << refused.errors;
    }
    EXPECT_TRUE(has(run({"doctor", "--help"}).output, "Examples:"));
}

}  // namespace
}  // namespace holdfast::test::cli
