// How the doctor judges the replies of a server: a current one, an old one, an odd one, and a silent one.
#include "unit/backends/doctor_texts.hpp"

#include <fstream>

namespace holdfast::redis_backend::doctor {
namespace {

TEST(doctor, finds_nothing_wrong_with_a_healthy_server) {
    const auto all = judge(healthy());
    EXPECT_GT(all.size(), 12U);
    for (const auto& f : all) {
        EXPECT_EQ(f.how_bad, severity::ok) << f.id << ": " << f.found;
        EXPECT_EQ(f.mending, "") << f.id;
        EXPECT_EQ(f.subject, "10.0.0.1:6379");
    }
}

// The other members remain when it ends.
TEST(doctor, requires_no_replica_of_a_redlock_member) {
    auto member = with("connected_slaves", "0");
    member.wanted.part = {"the redlock", lock_name{"holdfast:redlock"}};
    EXPECT_EQ(severity_of(member, "replicas"), severity::ok);
    EXPECT_EQ(finding_of(member, "replicas").found, "it has no replica; the other members stand for it");
    EXPECT_EQ(finding_of(member, "replicas").meaning.find("all locks"), std::string::npos);
}

TEST(doctor, judges_the_fields_of_info) {
    const struct {
        std::string field;
        std::optional<std::string> value;
        std::string_view id;
        severity wanted;
    } table[] = {
        {"redis_version", "7.2.4", "version", severity::ok},
        {"redis_version", "6.2.14", "version", severity::ok},
        {"redis_version", "6.3.4", "version", severity::ok},  // KeyDB
        {"redis_version", "6.0.20", "version", severity::danger},
        {"redis_version", "5.0.14", "version", severity::danger},
        {"redis_version", "255.255.255", "version", severity::ok},
        {"redis_version", "unstable", "version", severity::unknown},
        {"redis_version", std::nullopt, "version", severity::unknown},
        {"role", "slave", "role", severity::danger},
        {"role", std::nullopt, "role", severity::unknown},
        {"loading", "1", "loading", severity::warning},
        {"connected_clients", "8999", "client-limit", severity::ok},
        {"connected_clients", "9000", "client-limit", severity::warning},
        {"connected_clients", "many", "client-limit", severity::unknown},
        {"maxclients", std::nullopt, "client-limit", severity::ok},  // Redis 6: read from the setting
        {"maxmemory_policy", "allkeys-lru", "eviction-policy", severity::warning},
        {"maxmemory_policy", std::nullopt, "eviction-policy", severity::unknown},
        {"maxmemory", "10000000", "memory-headroom", severity::ok},
        {"maxmemory", "1300000", "memory-headroom", severity::note},
        {"maxmemory", "1100000", "memory-headroom", severity::warning},
        {"maxmemory", std::nullopt, "memory-headroom", severity::unknown},
        {"aof_enabled", "0", "persistence", severity::danger},  // and no save
        {"aof_enabled", std::nullopt, "persistence", severity::unknown},
        {"rdb_last_bgsave_status", "err", "persistence-failing", severity::warning},
        {"aof_last_write_status", "err", "persistence-failing", severity::warning},
        {"connected_slaves", "0", "replicas", severity::note},
        {"connected_slaves", std::nullopt, "replicas", severity::unknown},
        {"slave0", "ip=10.0.0.2,port=6379,state=online,offset=1,lag=11", "replica-lag", severity::warning},
        {"slave0", "ip=10.0.0.2,port=6379,state=wait_bgsave,offset=1,lag=0", "replica-lag",
         severity::warning},
        {"slave0", "nonsense", "replica-lag", severity::warning},
        {"min_slaves_good_slaves", "0", "min-replicas", severity::danger},
    };
    for (const auto& row : table)
        EXPECT_EQ(severity_of(with(row.field, row.value), row.id), row.wanted)
            << row.field << " " << row.value.value_or("-");
}

TEST(doctor, judges_settings) {
    const struct {
        std::string_view name;
        const char* value;
        std::string_view id;
        severity wanted;
    } table[] = {
        {"appendfsync", "everysec", "persistence", severity::note},
        {"appendfsync", "no", "persistence", severity::warning},
        {"min-replicas-to-write", "0", "min-replicas", severity::warning},
        {"min-replicas-to-write", "2", "min-replicas", severity::danger},
        {"timeout", "60", "idle-timeout", severity::note},
        {"tcp-keepalive", "0", "keepalive", severity::note},
        {"busy-reply-threshold", "0", "slow-scripts", severity::warning},
        {"busy-reply-threshold", "15001", "slow-scripts", severity::warning},
        {"busy-reply-threshold", "15000", "slow-scripts", severity::ok},
        {"enable-debug-command", "local", "debug-command", severity::note},
    };
    for (const auto& row : table)
        EXPECT_EQ(severity_of(with_setting(row.name, row.value), row.id), row.wanted)
            << row.name << " " << row.value;
}

TEST(doctor, eviction_is_a_danger_if_memory_is_limited) {
    auto s = with("maxmemory_policy", "volatile-ttl");
    EXPECT_EQ(severity_of(s, "eviction-policy"), severity::warning);
    s.info =
        answer("redis_version:7.0.15\r\nmaxmemory:100\r\nused_memory:1\r\nmaxmemory_policy:volatile-ttl\r\n");
    EXPECT_EQ(severity_of(s, "eviction-policy"), severity::danger);
    EXPECT_EQ(finding_of(s, "eviction-policy").falls, promise::timed);
    EXPECT_NE(finding_of(s, "eviction-policy").mending.find("noeviction"), std::string::npos);
}

// INFO says aof_enabled:0 while the server loads its file.
TEST(doctor, loading_server_is_not_reported_without_persistence) {
    auto s = healthy();
    s.info = answer(
        "redis_version:7.0.15\r\nloading:1\r\nloading_loaded_perc:42.50\r\naof_enabled:0\r\n"
        "maxmemory:100\r\nused_memory:99\r\n");
    s.settings["save"] = setting("save", "");
    s.settings["appendfsync"] = setting("appendfsync", "always");
    s.settings["appendonly"] = setting("appendonly", "yes");
    EXPECT_EQ(severity_of(s, "persistence"), severity::ok);
    EXPECT_EQ(severity_of(s, "memory-headroom"), severity::unknown);
    EXPECT_EQ(severity_of(s, "loading"), severity::warning);
    EXPECT_NE(finding_of(s, "loading").found.find("42.50 % so far"), std::string::npos);
    s.settings["appendonly"] = refused("NOPERM this user may not run 'config|get'");
    EXPECT_EQ(severity_of(s, "persistence"), severity::unknown);
    s.settings["appendonly"] = setting("appendonly", "no");
    EXPECT_EQ(severity_of(s, "persistence"), severity::danger);
}

TEST(doctor, snapshots_alone_are_a_warning) {
    auto s = with("aof_enabled", "0");
    s.settings["save"] = setting("save", "3600 1 300 100");
    EXPECT_EQ(severity_of(s, "persistence"), severity::warning);
    s.settings["save"] = refused();
    EXPECT_EQ(severity_of(s, "persistence"), severity::warning);
}

// A refused question never yields "ok" and never crashes.
TEST(doctor, refused_question_is_unknown_and_never_ok) {
    auto s = healthy();
    s.info = refused();
    for (auto& [name, answer] : s.settings) answer = refused("NOPERM this user may not run 'config|get'");
    s.receivers = refused();
    s.patterns = refused();
    s.whoami = refused();
    s.verdicts = refused("LOADING");
    s.clock.clear();
    s.time = refused();
    const auto all = judge(s);
    for (const auto& f : all) {
        if (f.id == "tls-version" || f.id == "tls-server-certificate") continue;  // about the connection
        EXPECT_EQ(f.how_bad, severity::unknown) << f.id;
        EXPECT_NE(f.found.find("could not look: "), std::string::npos) << f.found;
    }
    for (const auto* id : {"version", "role", "eviction-policy", "persistence", "replicas", "clock-offset",
                           "round-trip", "pattern-subscribers", "rights"})
        EXPECT_EQ(severity_of(s, id), severity::unknown) << id;
    EXPECT_EQ((examination{{}, all}.worst()), severity::warning);
}

TEST(doctor, missing_answer_is_unknown_too) {
    snapshot s;
    s.connection.address = "unix:/run/redis.sock";
    const auto all = judge(s);
    for (const auto& f : all) EXPECT_TRUE(f.how_bad == severity::unknown || f.id == "plaintext") << f.id;
}

TEST(doctor, names_valkey_by_its_own_name) {
    auto s = with("redis_version", "7.2.4");
    s.info = answer(std::string{healthy_info} + "server_name:valkey\r\nvalkey_version:8.0.1\r\n");
    EXPECT_NE(finding_of(s, "version").found.find("Valkey 8.0.1"), std::string::npos);
}

TEST(doctor, compares_clocks_within_the_error_of_the_round_trip) {
    auto s = healthy();
    s.clock = {{0, 400, 302'000}};  // offset 301.8 ms, +- 0.2
    EXPECT_EQ(severity_of(s, "clock-offset"), severity::ok);
    s.clock = {{0, 400, 303'000}};
    EXPECT_EQ(severity_of(s, "clock-offset"), severity::warning);
    s.clock = {{1'000'000, 1'000'400, 600'000}};
    EXPECT_EQ(severity_of(s, "clock-offset"), severity::warning);
    EXPECT_NE(finding_of(s, "clock-offset").found.find("behind"), std::string::npos);
    // The best of several samples counts; a slow one proves nothing.
    s.clock = {{0, 1'000'000, 900'000}, {2'000'000, 2'000'400, 2'000'200}};
    EXPECT_EQ(severity_of(s, "clock-offset"), severity::ok);
    s.clock = {{0, 1'000'000, 500'000}};
    EXPECT_EQ(severity_of(s, "clock-offset"), severity::unknown);
    EXPECT_EQ(severity_of(s, "round-trip"), severity::note);
    s.clock = {{0, 3'100'000, 1'500'000}};
    EXPECT_EQ(severity_of(s, "round-trip"), severity::warning);
}

TEST(doctor, clock_offset_is_unknown_if_the_own_clock_is_set_meanwhile) {
    auto s = healthy();
    s.clock.clear();
    s.own_clock_set = true;
    EXPECT_EQ(severity_of(s, "clock-offset"), severity::unknown);
    EXPECT_NE(finding_of(s, "clock-offset").found.find("was set meanwhile"), std::string::npos);
}

TEST(doctor, judges_certificates_by_the_days_left) {
    const auto in = [](std::chrono::hours left) {
        auto s = healthy();
        s.connection.tls->server_until = io::tls_state::time_point{} + left;
        return severity_of(s, "tls-server-certificate");
    };
    EXPECT_EQ(in(24h * 30), severity::ok);
    EXPECT_EQ(in(24h * 30 - 1h), severity::warning);
    EXPECT_EQ(in(24h * 7), severity::warning);
    EXPECT_EQ(in(24h * 7 - 1h), severity::danger);
    EXPECT_EQ(in(-1h), severity::danger);
    auto s = healthy();
    EXPECT_EQ(severity_of(s, "tls-client-certificate"), std::nullopt);
    s.connection.tls->own_until = io::tls_state::time_point{} + 24h * 8;
    EXPECT_EQ(severity_of(s, "tls-client-certificate"), severity::warning);
}

TEST(doctor, plaintext_is_a_warning_on_a_network) {
    auto s = healthy();
    s.connection.tls.reset();
    EXPECT_EQ(severity_of(s, "plaintext"), severity::warning);
    for (const auto* here : {"127.0.0.1:6379", "localhost:6379", "[::1]:6379", "unix:/run/redis.sock"}) {
        s.connection.address = here;
        EXPECT_EQ(severity_of(s, "plaintext"), severity::ok) << here;
    }
    s.connection.authenticated = false;
    EXPECT_EQ(severity_of(s, "no-password"), std::nullopt);  // a socket file has permissions
    s.connection.address = "127.0.0.1:6379";
    EXPECT_EQ(severity_of(s, "no-password"), severity::note);
}

TEST(doctor, pattern_subscribers_are_counted_by_a_message_or_by_numpat) {
    auto s = healthy();
    s.patterns = answer(3);
    EXPECT_EQ(severity_of(s, "pattern-subscribers"), severity::ok);  // none of them receives our messages
    s.receivers = answer(1);
    EXPECT_EQ(severity_of(s, "pattern-subscribers"), severity::warning);
    s.receivers = refused();
    EXPECT_EQ(severity_of(s, "pattern-subscribers"), severity::unknown);
    s.patterns = answer(0);
    EXPECT_EQ(severity_of(s, "pattern-subscribers"), severity::ok);
}

// --- the manual -------------------------------------------------------------------------------------

TEST(doctor, every_finding_is_in_the_manual) {
    std::ifstream in{HOLDFAST_SOURCE_DIR "/docs/doctor.md"};
    const std::string page{std::istreambuf_iterator<char>{in}, {}};
    // Findings about several servers, and about none.
    std::vector<std::string> ids{"same-server",        "clocks-apart",  "versions-differ",
                                 "nothing-to-examine", "own-clock",     "level-clocks",
                                 "redlock-members",    "redlock-marks", "redlock-even"};
    for (const auto* const of_a_file :
         {"file-system", "file-mode", "disk-space", "sqlite-journal", "lock-table"})
        ids.emplace_back(of_a_file);
    for (const auto* const of_postgres :
         {"pg-fsync", "pg-synchronous-commit", "pg-replicas", "pg-table", "pg-old-transactions"})
        ids.emplace_back(of_postgres);
    for (const auto* const of_mariadb :
         {"mariadb-flush", "mariadb-replicas", "mariadb-table", "mariadb-time-zone"})
        ids.emplace_back(of_mariadb);
    for (const auto* const of_zookeeper : {"zookeeper-voters", "zookeeper-session", "zookeeper-version",
                                           "zookeeper-force-sync", "zookeeper-sequence"})
        ids.emplace_back(of_zookeeper);
    for (const auto& e : catalogue()) ids.emplace_back(e.id);
    for (const auto& id : ids) EXPECT_NE(page.find("| `" + id + "` |"), std::string::npos) << id;
    const auto rows = static_cast<std::size_t>(
        std::count(page.begin(), page.end(), '\n') > 0
            ? [&] {
                  std::size_t n = 0;
                  for (auto at = page.find("\n| `"); at != std::string::npos; at = page.find("\n| `", at + 1)) ++n;
                  return n;
              }()
            : 0);
    EXPECT_EQ(rows, ids.size()) << "docs/doctor.md has a finding that does not exist";
}

TEST(doctor, every_entry_has_a_unique_well_formed_id_and_a_meaning) {
    std::vector<std::string_view> ids;
    for (const auto& e : catalogue()) {
        EXPECT_EQ(std::count(ids.begin(), ids.end(), e.id), 0) << e.id;
        ids.push_back(e.id);
        EXPECT_EQ(e.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz-"), std::string_view::npos) << e.id;
        EXPECT_FALSE(e.meaning.empty()) << e.id;
    }
}

}  // namespace
}  // namespace holdfast::redis_backend::doctor
