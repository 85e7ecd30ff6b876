#include "contract/stores.hpp"

#include "backends/registry.hpp"
#include "base/text.hpp"
#include "contract/session_store.hpp"
#include "engine/lock_record.hpp"
#include "io/reactor.hpp"
#include "support/cluster_scene.hpp"
#include "support/eventually.hpp"
#ifdef HOLDFAST_HAS_MARIADB
#include "support/mariadb_server.hpp"
#endif
#ifdef HOLDFAST_HAS_POSTGRES
#include "support/postgres_server.hpp"
#endif
#include "support/redis_server.hpp"
#include "support/sanitizers.hpp"
#include "support/zookeeper_server.hpp"

#include <holdfast/admin.hpp>
#include <holdfast/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <stdexcept>

namespace holdfast::contract {

namespace {

// --- servers ----------------------------------------------------------------------------------------

using servers = std::vector<test::redis_server*>;

servers one_server() {
    static test::redis_server one;
    return {&one};
}

servers three_members() {
    static std::array<test::redis_server, 3> three;
    return {&three[0], &three[1], &three[2]};
}

test::cluster_scene& cluster() {
    static test::cluster_scene three{{.masters = 3, .replicas = false}};
    return three;
}

servers servers_of_cluster() {
    servers all;
    for (std::size_t n = 0; n < cluster().size(); ++n) all.push_back(&cluster().server(n));
    return all;
}

// The servers were started just now. How slow a busy machine makes one does not matter in this suite.
std::string redlock_url(const std::string& database) {
    std::string url = "redlock:restarts=trusted,node_timeout=2s";
    for (const auto* const m : three_members()) url += "," + m->url() + database;
    return url;
}

template <servers (*All)()>
void clear() {
    for (auto* const one : All()) one->command({"FLUSHALL"});
}

// Keys that may stay: fences, what a redlock keeps on a member, and results of operations, which expire.
template <servers (*All)()>
std::vector<std::string> leftovers() {
    const auto may_stay = [](const std::string& key) {
        return key.starts_with("holdfast:f") || key.starts_with("redisson_lock_token:") ||
               key == "holdfast:redlock" || key.starts_with("holdfast:o");
    };
    std::vector<std::string> all;
    for (auto* const one : All())
        for (auto& key : one->keys())
            if (!may_stay(key)) all.push_back(std::move(key));
    return all;
}

const test::temp_dir& files() {
    static const test::temp_dir one;
    return one;
}

test::zookeeper_servers& zookeeper() {
    static test::zookeeper_servers one;
    return one;
}

int database = 0;  // a new one for each test

#if defined(HOLDFAST_HAS_POSTGRES) || defined(HOLDFAST_HAS_MARIADB)
// Of rows with a name and a record. A row stays for its last fence and for what a repeated request must not
// do again.
std::vector<std::string> names_in_use(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::string> all;
    for (const auto& row : rows) {
        const auto record = engine::from_bytes(base::from_hex(row[1]));
        if (!record || !record->holders.empty() || !record->queue.empty() || record->count)
            all.push_back(row[0]);
    }
    return all;
}
#endif

#ifdef HOLDFAST_HAS_POSTGRES
test::postgres_server& postgres() {
    static test::postgres_server one;
    return one;
}

// Another database is another space of names.
std::string elsewhere_in_postgres() {
    static const bool made = [] {
        postgres().run("CREATE DATABASE elsewhere");
        return true;
    }();
    return made ? postgres().url("elsewhere") : std::string{};
}

void clear_postgres() {
    for (const auto* const one : {"postgres", "elsewhere"}) {
        if (postgres().run("SELECT 1 FROM pg_database WHERE datname = '" + std::string{one} + "'").empty())
            continue;
        if (!postgres().run("SELECT to_regclass('holdfast_lock')", one).front().front().empty())
            postgres().run("DELETE FROM holdfast_lock", one);
    }
}

std::vector<std::string> leftovers_in_postgres() {
    return names_in_use(
        postgres().run("SELECT encode(name, 'escape'), encode(record, 'hex') FROM holdfast_lock"));
}
#endif

#ifdef HOLDFAST_HAS_MARIADB
test::mariadb_server& mariadb() {
    static test::mariadb_server one;
    return one;
}

std::string elsewhere_in_mariadb() {
    mariadb().run("CREATE DATABASE IF NOT EXISTS elsewhere");
    return mariadb().url("elsewhere");
}

void clear_mariadb() {
    for (const auto& row : mariadb().run("SELECT TABLE_SCHEMA FROM information_schema.TABLES"
                                         " WHERE TABLE_NAME = 'holdfast_lock'"))
        mariadb().run("DELETE FROM holdfast_lock", row[0]);
}

std::vector<std::string> leftovers_in_mariadb() {
    return names_in_use(mariadb().run("SELECT name, LOWER(HEX(record)) FROM holdfast_lock"));
}
#endif

// --- a store made of stores -------------------------------------------------------------------------

std::string joint_url() {
    const auto level = [](const char* which) {
        return ",sqlite:" + (files().path() / (which + std::to_string(database))).string();
    };
    return "joint:group=contract,mode_lease=10m" + level("first") + level("second");
}

// The change stops between the levels: the mode that needs both must last for a while.
void use_both_levels() {
    client c{joint_url()};
    try {
        (void)admin::switch_mode(c, 1, {.reason = "test", .wait = std::chrono::milliseconds{1}});
        throw std::runtime_error{"the mode with both levels did not last"};
    } catch (const error& e) {
        if (e.code() != errc::timed_out) throw;
    }
}

const std::vector<choice> of_joint{
    {"lock_contract", kind::native},          {"lock_contract", kind::recursive},
    {"lock_contract", kind::shared_write},    {"mutex_contract", kind::native},
    {"recursive_contract", kind::recursive},  {"multi_lock_contract", kind::native},
    {"fenced_contract", kind::native_fenced}, {"shared_contract", kind::shared_write}};

// --- the table --------------------------------------------------------------------------------------

const std::vector<store_row>& table() {
    static const std::vector<store_row> rows{
        {.name = "redis",
         .url = [] { return one_server().front()->url(); },
         .unserved = "redis://127.0.0.1:1",
         .other_url = [] { return one_server().front()->url() + "/1"; },
         .clear = clear<one_server>,
         .leftovers = leftovers<one_server>},
        {.name = "local",
         .url = [] { return std::string{"local:contract"}; },
         .other_url = [] { return std::string{"local:contract-elsewhere"}; },
         .kinds_share_code = true},
        {.name = "sqlite",
         .url = [] { return "sqlite:" + (files().path() / std::to_string(database)).string(); },
         .other_url = [] { return "sqlite:" + (files().path() / "elsewhere").string(); },
         .clear = [] { ++database; },
         .kinds_share_code = true},
        // The kernel wakes all waiters, and any of them gets the lock.
        {.name = "file",
         .url = [] { return "file:" + (files().path() / ("locks" + std::to_string(database))).string(); },
         .other_url = [] { return "file:" + (files().path() / "more").string(); },
         .in_order = false,
         .clear = [] { ++database; }},
#ifdef HOLDFAST_HAS_POSTGRES
        {.name = "postgres",
         .url = [] { return postgres().url(); },
         .unserved = "postgres://127.0.0.1:1/none",
         .other_url = elsewhere_in_postgres,
         .commits = true,
         .clear = clear_postgres,
         .leftovers = leftovers_in_postgres,
         .kinds_share_code = true},
#endif
#ifdef HOLDFAST_HAS_MARIADB
        {.name = "mariadb",
         .url = [] { return mariadb().url(); },
         .unserved = "mysql://127.0.0.1:1/none",
         .other_url = elsewhere_in_mariadb,
         .commits = true,
         .clear = clear_mariadb,
         .leftovers = leftovers_in_mariadb,
         .kinds_share_code = true},
#endif
        {.name = "zookeeper",
         .url = [] { return zookeeper().url() + "&base=/t" + std::to_string(database) + "/locks"; },
         .unserved = "zk://127.0.0.1:1",
         .other_url = [] { return zookeeper().url() + "&base=/elsewhere"; },
         .commits = true,
         .clear = [] { ++database; }},
        // The fences that a joint store needs.
        {.name = "zookeeper_fences",
         .url =
             [] { return zookeeper().url() + "&fences=time&base=/f" + std::to_string(database) + "/locks"; },
         .unserved = "zk://127.0.0.1:1/?fences=time",
         .commits = true,
         .clear = [] { ++database; },
         .only = {{"lock_contract", kind::native_fenced}, {"fenced_contract", kind::native_fenced}}},
        {.name = "session",
         .url =
             [] {
                 add_session_store();
                 return std::string{"session:contract"};
             },
         .other_url = [] { return std::string{"session:contract-elsewhere"}; },
         .kinds_share_code = true},
        {.name = "redlock",
         .url = [] { return redlock_url(""); },
         .unserved = "redlock:redis://127.0.0.1:1,redis://127.0.0.1:2,redis://127.0.0.1:3",
         .other_url = [] { return redlock_url("/1"); },
         .clear = clear<three_members>,
         .leftovers = leftovers<three_members>,
         // Its recursive_mutex is tested in tests/server/redlock_recursive_test.cpp. The lifetimes of Asio's
         // objects are the same on every store.
         .left_out = {{"", kind::recursive}, {"async_lifetimes", kind::native}}},
        // A breaker stands before the store.
        {.name = "redis_fail_fast",
         .url = [] { return one_server().front()->url(); },
         .unserved = "redis://127.0.0.1:1",
         .clear = clear<one_server>,
         .leftovers = leftovers<one_server>,
         .only = {{"lock_contract", kind::native},
                  {"async_contract", kind::native},
                  {"queue_contract", kind::fair},
                  {"fenced_contract", kind::native_fenced},
                  {"semaphore_contract", kind::permit_semaphore},
                  {"latch_contract", kind::latch},
                  {"shared_contract", kind::shared_write}},
         .policies = {{.name = "closed", .match = "*"}}},
        // Each lock is taken in a substitute first. There the waiters of one machine queue, and `inspect`
        // does not see them.
        {.name = "redis_open_process",
         .url = [] { return one_server().front()->url(); },
         .unserved = "redis://127.0.0.1:1",
         .in_order = false,
         .clear = clear<one_server>,
         .leftovers = leftovers<one_server>,
         .only = {{"lock_contract", kind::native},
                  {"local_turns_contract", kind::native},
                  {"async_contract", kind::native},
                  {"async_lifetimes", kind::recursive},
                  {"multi_lock_contract", kind::native},
                  {"shared_contract", kind::shared_write}},
         .policies = {{.name = "open", .match = "*", .outage = on_outage::fail_open_process}}},
        {.name = "redis_open_host",
         .url = [] { return one_server().front()->url(); },
         .unserved = "redis://127.0.0.1:1",
         .in_order = false,
         .clear = clear<one_server>,
         .leftovers = leftovers<one_server>,
         .only = {{"lock_contract", kind::recursive},
                  {"recursive_contract", kind::recursive},
                  {"recursive_contract", kind::shared_write}},
         .policies = {{.name = "open",
                       .match = "*",
                       .outage = on_outage::fail_open_host,
                       .substitute = "sqlite:" + (files().path() / "substitute").string()}}},
        // A store made of stores, in a mode that needs one of them, and in one that needs both.
        {.name = "joint",
         .url = [] { return joint_url(); },
         .in_order = false,
         .clear = [] { ++database; },
         .only = of_joint},
        {.name = "joint_both",
         .url = [] { return joint_url(); },
         .in_order = false,
         .clear =
             [] {
                 ++database;
                 use_both_levels();
             },
         .only = of_joint},
        // A cluster is Redis with its keys on several servers. One kind of each sort shows what that changes.
        {.name = "cluster",
         .url = [] { return cluster().url(); },
         .unserved = "redis+cluster://127.0.0.1:1",
         .clear = clear<servers_of_cluster>,
         .leftovers = leftovers<servers_of_cluster>,
         .only = {{"lock_contract", kind::native},
                  {"lock_contract", kind::recursive},
                  {"mutex_contract", kind::native},
                  {"queue_contract", kind::fair},
                  {"recursive_contract", kind::shared_write},
                  {"fenced_contract", kind::native_fenced},
                  {"semaphore_contract", kind::permit_semaphore},
                  {"latch_contract", kind::latch}}},
    };
    return rows;
}

// --- abilities --------------------------------------------------------------------------------------

abilities ask(const store_row& row) {
    io::reactor reactor;
    config settings;
    settings.url = row.unserved.empty() ? row.url() : std::string{row.unserved};
    const auto opened =
        backends::open({reactor, settings, base::client_id::make(), [](const backend::notice&) {}});
    abilities can{.has = opened->has(),
                  .counters = opened->as_counters() != nullptr,
                  .inspection = opened->as_inspection() != nullptr,
                  .proves_session = opened->session_timeout() > backend::milliseconds{0},
                  .has_modes = opened->as_mode_switch() != nullptr,
                  .in_order = row.in_order,
                  .shards = opened->shard_of({kind::native, lock_name{"a"}}) !=
                            opened->shard_of({kind::native, lock_name{"b"}})};
    for (const auto& rules : engine::kind_table) {
        const bool counts = rules.of == kind::latch || rules.belongs_to == engine::family::semaphore;
        can.supports[static_cast<std::size_t>(rules.of)] =
            opened->unsupported(rules.of).empty() && (can.counters || !counts);
    }
    return can;
}

bool includes(const std::vector<choice>& list, std::string_view suite, kind of) {
    return std::any_of(list.begin(), list.end(),
                       [&](const choice& c) { return c.of == of && (c.suite.empty() || c.suite == suite); });
}

// A sanitizer finds in one kind what it would find in another of the same code, and takes long.
bool left_to_another_kind(const subject& s) {
    static const bool all = test::slower == 1 || std::getenv("HOLDFAST_TEST_ALL") != nullptr;
    return !all && s.store->kinds_share_code &&
           (s.of == kind::native || s.of == kind::recursive || s.of == kind::recursive_fenced ||
            s.of == kind::semaphore);
}

}  // namespace

const abilities& subject::can() const {
    static const auto all = [] {
        std::map<const store_row*, abilities> each;
        for (const auto& row : table()) each.emplace(&row, ask(row));
        return each;
    }();
    return all.at(store);
}

std::string name_of(const subject& s) {
    const bool fenced_mutex = s.of == kind::native_fenced;
    return std::string{s.store->name}
        .append("_")
        .append(type_name(s.of))
        .append(fenced_mutex ? "_fenced" : "");
}

std::vector<subject> subjects_for(std::string_view suite, need needed, coverage of) {
    std::vector<subject> all;
    for (const auto& row : table()) {
        if (row.only.empty() != (of == coverage::full)) continue;
        for (const auto& rules : engine::kind_table) {
            const subject s{&row, rules.of};
            const bool chosen = row.only.empty() || includes(row.only, suite, s.of);
            if (chosen && !includes(row.left_out, suite, s.of) && !left_to_another_kind(s) &&
                s.can().has_kind(s.of) && needed(s))
                all.push_back(s);
        }
    }
    return all;
}

namespace needs {

bool a_lock(const subject& s) {
    return s.rules().most_permits == 1 && s.of != kind::latch && s.of != kind::shared_read;
}

bool a_queue(const subject& s) {
    return s.rules().has_queue && s.can().keeps_queue() && s.can().inspection;  // the tests look at it
}

bool a_mutex_with_queue(const subject& s) {
    return a_queue(s) && s.rules().belongs_to == engine::family::string;
}

bool local_turns(const subject& s) {
    return a_lock(s) && s.rules().threads == engine::queueing::one_holds &&
           (!s.rules().fenced || s.can().has.fences_per_grant > 1);
}

bool a_recursive_lock(const subject& s) { return a_lock(s) && s.rules().reentrant; }

bool fences(const subject& s) { return a_lock(s) && s.rules().fenced; }

bool permits(const subject& s) { return s.rules().most_permits > 1; }

bool a_lock_among_other_kinds(const subject& s) {
    return a_lock(s) && s.can().has_kind(kind::native_fenced) && s.can().has_kind(kind::semaphore);
}

}  // namespace needs

}  // namespace holdfast::contract
