// What `examine` finds on real servers, each with a real fault.
#include "server/doctor_scene.hpp"
#include "server/moved_clock.hpp"
#include "support/certificates.hpp"
#include "support/loopback.hpp"

namespace holdfast::test {
namespace {

void set(redis_server& server, const std::string& name, const std::string& value) {
    ASSERT_EQ(server.command({"CONFIG", "SET", name, value}).text, "OK") << name;
}

TEST(doctor, finds_only_notes_on_a_sound_server) {
    redis_server server{{.password = "secret", .disk = redis_server::persistence::append_only}};
    const auto all = examined(server.url());
    EXPECT_LE(all.worst(), severity::note) << all_of(all);
    for (const auto* id : {"version", "role", "client-limit", "idle-timeout", "keepalive", "slow-scripts",
                           "debug-command", "plaintext", "clock-offset", "round-trip", "eviction-policy",
                           "memory-headroom", "persistence", "pattern-subscribers", "rights"})
        EXPECT_EQ(worst_of(all, id), severity::ok) << id << "\n" << all_of(all);
    ASSERT_EQ(all.servers.size(), 1U);
    EXPECT_EQ(all.servers[0].address, "127.0.0.1:" + std::to_string(server.port()));
    EXPECT_EQ(all.servers[0].role, "master");
    EXPECT_FALSE(all.servers[0].run_id.empty());
    EXPECT_EQ(all.servers[0].version.substr(0, 2), "7.");
    for (const auto& f : all.findings) EXPECT_EQ(f.found.find("secret"), std::string::npos) << f.found;
}

TEST(doctor, changes_nothing_and_disturbs_no_lock) {
    redis_server server{
        {.users = {"few on >pw ~job* &* +@all -del -set -hset -rpush -zadd -zpopmin -pexpire"}}};
    client c{server.url()};
    mutex lock{c, "job"};
    lease held = lock.acquire();
    const auto before = server.keys();
    const auto dirty = [&] {
        const auto info = server.command({"INFO", "persistence"}).text;
        const auto at = info.find("rdb_changes_since_last_save:");
        return info.substr(at, info.find('\r', at) - at);
    };
    const auto writes = dirty();
    // Every missing command is one that would harm the lock.
    const auto few = examined("redis://few:pw@127.0.0.1:" + std::to_string(server.port()),
                              {.name = lock_name{"job"}, .kind = {}});
    std::string lacked;
    for (const auto& f : found(few, "missing-command")) lacked += f.found;
    for (const auto* command : {"del", "set", "pexpire"})
        EXPECT_NE(lacked.find(command), std::string::npos) << all_of(few);
    (void)examined(server.url(), {.name = lock_name{"job"}, .kind = {}});
    EXPECT_EQ(server.keys(), before);
    EXPECT_EQ(dirty(), writes);
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.release(), release_outcome::released);
}

TEST(doctor, warns_of_eviction) {
    redis_server server;
    EXPECT_EQ(worst_on(server, "eviction-policy"), severity::ok);
    set(server, "maxmemory-policy", "volatile-lru");
    EXPECT_EQ(worst_on(server, "eviction-policy"), severity::warning);
    set(server, "maxmemory", "100mb");
    EXPECT_EQ(worst_on(server, "eviction-policy"), severity::danger);
    set(server, "maxmemory-policy", "noeviction");
    EXPECT_EQ(worst_on(server, "eviction-policy"), severity::ok);
    set(server, "maxmemory", "1mb");
    EXPECT_EQ(worst_on(server, "memory-headroom"), severity::warning);
}

TEST(doctor, reports_what_a_restart_loses) {
    redis_server server;
    EXPECT_EQ(worst_on(server, "persistence"), severity::danger);
    set(server, "save", "3600 1");
    EXPECT_EQ(worst_on(server, "persistence"), severity::warning);
    set(server, "appendonly", "yes");
    set(server, "appendfsync", "no");
    EXPECT_EQ(worst_on(server, "persistence"), severity::warning);
    set(server, "appendfsync", "everysec");
    EXPECT_EQ(worst_on(server, "persistence"), severity::note);
    set(server, "appendfsync", "always");
    EXPECT_EQ(worst_on(server, "persistence"), severity::ok);
}

TEST(doctor, reports_harmful_settings) {
    redis_server server{{.debug_command = true}};
    set(server, "timeout", "60");
    set(server, "tcp-keepalive", "0");
    set(server, "busy-reply-threshold", "0");
    set(server, "maxclients", "3");
    client one{server.url()};
    (void)examine(one);
    const auto all = examined(server.url());
    EXPECT_EQ(worst_of(all, "idle-timeout"), severity::note);
    EXPECT_EQ(worst_of(all, "keepalive"), severity::note);
    EXPECT_EQ(worst_of(all, "slow-scripts"), severity::warning);
    EXPECT_EQ(worst_of(all, "client-limit"), severity::warning) << all_of(all);
    EXPECT_EQ(worst_of(all, "debug-command"), severity::note);
    EXPECT_EQ(worst_of(all, "no-password"), severity::note);
}

TEST(doctor, examines_a_master_and_its_replica) {
    redis_server master;
    redis_server replica{{.config = {"replicaof 127.0.0.1 " + std::to_string(master.port())}}};
    ASSERT_TRUE(eventually(patience, [&] { return worst_on(master, "replica-lag") == severity::ok; }));
    EXPECT_EQ(worst_on(master, "replicas"), severity::ok);
    EXPECT_EQ(worst_on(master, "min-replicas"), severity::warning);
    set(master, "min-replicas-to-write", "1");
    EXPECT_EQ(worst_on(master, "min-replicas"), severity::ok);
    EXPECT_EQ(worst_on(replica, "role"), severity::danger);

    replica.stop();
    ASSERT_TRUE(eventually(patience, [&] { return worst_on(master, "min-replicas") == severity::danger; }));
    EXPECT_EQ(worst_on(master, "replicas"), severity::note);
    replica.start();
    ASSERT_TRUE(eventually(patience, [&] { return worst_on(replica, "replica-lag") == std::nullopt; }));
    master.stop();
    EXPECT_TRUE(eventually(patience, [&] { return worst_on(replica, "replica-lag") == severity::warning; }));
}

// LD_PRELOAD moves the wall clock of the server and of nothing else.
TEST(doctor, measures_the_clock_of_a_server_that_is_a_minute_ahead) {
    moved_clock clock{"server"};
    redis_server ahead{{.environment = clock.environment()}};
    EXPECT_EQ(worst_on(ahead, "clock-offset"), severity::ok);
    clock.step(61s);
    const auto all = examined(ahead.url());
    EXPECT_EQ(worst_of(all, "clock-offset"), severity::warning) << all_of(all);
    EXPECT_NE(found(all, "clock-offset").at(0).found.find("1m1s ahead"), std::string::npos) << all_of(all);
    const auto offset = all.servers.at(0).clock_offset.value();
    EXPECT_LT(std::chrono::abs(offset - 61s), 1s);

    redis_server right;
    const auto both = together({all, examined(right.url())});
    EXPECT_EQ(worst_of(both, "clocks-apart"), severity::warning);
    EXPECT_EQ(worst_of(together({examined(right.url()), examined(right.url())}), "same-server"),
              severity::warning);
}

TEST(doctor, finds_a_subscriber_to_every_channel) {
    redis_server server;
    child_process narrow{{"redis-cli", "-p", std::to_string(server.port()), "psubscribe", "news.*"}};
    ASSERT_TRUE(narrow.wait_for_output("psubscribe", patience));
    EXPECT_EQ(worst_on(server, "pattern-subscribers"), severity::ok);
    child_process all{{"redis-cli", "-p", std::to_string(server.port()), "psubscribe", "*"}};
    ASSERT_TRUE(all.wait_for_output("psubscribe", patience));
    EXPECT_EQ(worst_on(server, "pattern-subscribers"), severity::warning);
    all.kill();
    EXPECT_TRUE(
        eventually(patience, [&] { return worst_on(server, "pattern-subscribers") == severity::ok; }));
}

TEST(doctor, finds_a_renamed_command) {
    redis_server server{{.config = {"rename-command ZPOPMIN \"\"", "rename-command TIME \"\""}}};
    const auto all = examined(server.url());
    const auto renamed = found(all, "renamed-command");
    ASSERT_EQ(renamed.size(), 2U) << all_of(all);
    EXPECT_EQ(worst_of(all, "renamed-command"), severity::danger);
    EXPECT_EQ(worst_of(all, "clock-offset"), severity::unknown);
    EXPECT_NE((renamed[0].found + renamed[1].found).find("zpopmin"), std::string::npos);
    redis_server without{{.config = {"rename-command EVAL \"\""}}};
    EXPECT_EQ(worst_on(without, "renamed-command"), severity::danger);
}

TEST(doctor, finds_a_cluster_without_slots) {
    redis_server server{{.config = {"cluster-enabled yes"}}};
    const auto empty = examined(server.url());
    EXPECT_EQ(worst_of(empty, "cluster-state"), severity::danger) << all_of(empty);
    EXPECT_EQ(worst_of(empty, "cluster-client"), severity::warning);
    ASSERT_EQ(server.command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}).text, "OK");
    ASSERT_TRUE(eventually(patience, [&] { return worst_on(server, "cluster-state") == severity::ok; }));
    const auto full = examined(server.url(), {.name = lock_name{"job"}, .kind = {}});
    EXPECT_EQ(worst_of(full, "cluster-client"), std::nullopt);
    EXPECT_EQ(worst_of(full, "cluster-replicas"), severity::warning);
    EXPECT_EQ(worst_of(full, "cluster-nodes"), severity::ok);
    EXPECT_EQ(worst_of(full, "cluster-coverage"), severity::note);
    EXPECT_EQ(worst_of(full, "rights"), severity::ok) << all_of(full);
}

TEST(doctor, counts_the_days_of_certificates) {
    const temp_dir folder;
    const certificate_authority ca{folder.path(), "ca"};
    const auto url = [&](const redis_server& of, const std::string& more = {}) {
        return "rediss://127.0.0.1:" + std::to_string(of.tls_port()) + "?ca=" + ca.file() + more;
    };
    const auto server_with = [&](int days) {
        redis_server::options o;
        o.secured = redis_server::tls{
            ca.issue("server" + std::to_string(days), "IP:127.0.0.1", std::chrono::hours{24 * days + 1}),
            ca.file(), redis_server::client_certificates::unwanted};
        return o;
    };
    redis_server fresh{server_with(60)};
    redis_server old{server_with(29)};
    redis_server nearly{server_with(6)};
    EXPECT_EQ(worst_of(examined(url(fresh)), "tls-server-certificate"), severity::ok);
    EXPECT_EQ(worst_of(examined(url(old)), "tls-server-certificate"), severity::warning);
    const auto all = examined(url(nearly));
    EXPECT_EQ(worst_of(all, "tls-server-certificate"), severity::danger) << all_of(all);
    EXPECT_EQ(worst_of(all, "tls-version"), severity::ok);
    EXPECT_EQ(worst_of(all, "plaintext"), std::nullopt);
    const auto own = ca.issue("me", "DNS:me", std::chrono::hours{24 * 20});
    EXPECT_EQ(
        worst_of(examined(url(fresh, "&cert=" + own.cert + "&key=" + own.key)), "tls-client-certificate"),
        severity::warning);
}

TEST(doctor, reports_a_quarantine_and_how_long_it_lasts) {
    redis_server server;
    const auto url = server.url() + "?longest_lease=6s&restarts=quarantined";
    const auto lock = [&](const std::string& at) {
        client c{settings(at, 6s)};
        return code_of([&] { (void)mutex(c, "job").try_acquire(); });
    };
    const auto all = examined(url);
    const auto some = found(all, "quarantine");
    ASSERT_EQ(some.size(), 1U) << all_of(all);
    EXPECT_EQ(some[0].how_bad, severity::danger);
    EXPECT_EQ(some[0].subject, "127.0.0.1:" + std::to_string(server.port()));
    EXPECT_NE(some[0].found.find("was started so recently"), std::string::npos) << some[0].found;
    EXPECT_NE(some[0].found.find("it grants them again in "), std::string::npos) << some[0].found;
    EXPECT_EQ(lock(url), errc::quarantined);
    EXPECT_EQ(worst_of(examined(server.url()), "quarantine"), std::nullopt) << "it is trusted";
    ASSERT_TRUE(eventually(patience, [&] { return worst_of(examined(url), "quarantine") == severity::ok; }));
    // A server reports whole seconds, so a client that connects a moment later may count to one more.
    EXPECT_TRUE(eventually(patience, [&] { return lock(url) == std::error_code{}; }));
}

// Clients note since when a server is the master; the doctor notes nothing.
TEST(doctor, reads_the_note_of_a_promotion_and_writes_none) {
    redis_server master;
    redis_server replica{{.config = {"replicaof 127.0.0.1 " + std::to_string(master.port())}}};
    ASSERT_TRUE(eventually(patience, [&] {
        return replica.command({"INFO", "replication"}).text.find("master_link_status:up") !=
               std::string::npos;
    }));
    replica.command({"REPLICAOF", "NO", "ONE"});
    const auto url = replica.url() + "?longest_lease=6s&failover=grace&restarts=trusted";
    const auto all = examined(url);
    EXPECT_EQ(worst_of(all, "quarantine"), severity::danger) << all_of(all);
    EXPECT_TRUE(mentions(all, "quarantine", "was promoted so recently")) << all_of(all);
    EXPECT_TRUE(replica.keys().empty());
    client c{settings(url, 6s)};
    EXPECT_EQ(code_of([&] { (void)mutex(c, "job").try_acquire(); }), errc::quarantined);
    const auto note = replica.command({"GET", "holdfast:promoted"}).text;
    EXPECT_NE(note, "");
    // Each client is new, so only the note can tell.
    ASSERT_TRUE(eventually(patience, [&] { return worst_of(examined(url), "quarantine") == severity::ok; }));
    EXPECT_EQ(replica.command({"GET", "holdfast:promoted"}).text, note);
}

TEST(doctor, reports_a_silent_or_missing_server_in_bounded_time) {
    redis_server server;
    const auto url = server.url();
    client c{settings(url)};
    (void)examine(c);
    server.pause();
    const stopwatch since;
    EXPECT_EQ(code_of([&] { (void)examine(c); }).category(), category());
    EXPECT_LT(since.took(), 5 * answer_timeout + slack);
    server.resume();
    ASSERT_TRUE(eventually(patience, [&] {
        try {
            return examine(c).servers.size() == 1;
        } catch (const error&) {
            return false;
        }
    }));
    server.stop();
    EXPECT_EQ(code_of([&] { (void)examined(url); }), errc::unavailable);
    EXPECT_EQ(code_of([&] { (void)examined("redis://nobody:wrong@127.0.0.1:1"); }), errc::unavailable);
}

TEST(doctor, finds_nothing_to_examine_in_a_local_store) {
    const auto all = examined("local:doctor");
    ASSERT_EQ(all.findings.size(), 1U);
    EXPECT_EQ(all.findings[0].id, "nothing-to-examine");
    EXPECT_EQ(all.worst(), severity::ok);
}

TEST(doctor, works_over_several_connections_and_beside_locks) {
    redis_server server;
    auto many = settings(server.url());
    many.redis.connections = 3;
    client c{many};
    std::atomic<bool> stop{false};
    std::vector<std::future<void>> others;
    for (int i = 0; i < 3; ++i) {
        others.push_back(in_background([&, i] {
            mutex lock{c, "own:" + std::to_string(i)};
            while (!stop) {
                lease held = lock.acquire();
                EXPECT_EQ(held.release(), release_outcome::released);
            }
        }));
    }
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(worst_of(examine(c, {.name = lock_name{"job"}, .kind = {}}), "rights"), severity::ok);
    stop = true;
    for (auto& o : others) o.get();
}

}  // namespace
}  // namespace holdfast::test
