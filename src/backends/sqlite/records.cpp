#include "backends/sqlite/records.hpp"

#include <holdfast/error.hpp>

#include <chrono>
#include <thread>
#include <utility>

namespace holdfast::sqlite_backend {

namespace {

constexpr std::int64_t application = 0x686f6c64;  // "hold"
constexpr std::int64_t layout = 1;

constexpr const char* tables =
    "CREATE TABLE holdfast_locks (name BLOB PRIMARY KEY, record BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE holdfast_listeners (name BLOB, client TEXT, PRIMARY KEY (name, client)) WITHOUT ROWID;"
    "CREATE TABLE holdfast_clients (id TEXT PRIMARY KEY, pid INTEGER, namespace TEXT) WITHOUT ROWID;"
    "CREATE TABLE holdfast_store (boot TEXT NOT NULL);"
    "INSERT INTO holdfast_store VALUES ('');"
    "PRAGMA application_id = 1752132708;"
    "PRAGMA user_version = 1;";

}  // namespace

struct records::statements {
    explicit statements(database& on)
        : load(on, "SELECT record FROM holdfast_locks WHERE name = ?1"),
          save(on, "INSERT OR REPLACE INTO holdfast_locks VALUES (?1, ?2)"),
          erase(on, "DELETE FROM holdfast_locks WHERE name = ?1"),
          scan(on, "SELECT name, record FROM holdfast_locks WHERE name >= ?1 ORDER BY name"),
          listen(on, "INSERT OR IGNORE INTO holdfast_listeners VALUES (?1, ?2)"),
          stop_listening(on, "DELETE FROM holdfast_listeners WHERE name = ?1 AND client = ?2"),
          listeners(on, "SELECT client FROM holdfast_listeners WHERE name = ?1"),
          add_client(on, "INSERT OR REPLACE INTO holdfast_clients VALUES (?1, ?2, ?3)"),
          client(on, "SELECT pid, namespace FROM holdfast_clients WHERE id = ?1"),
          remove_client(on, "DELETE FROM holdfast_clients WHERE id = ?1"),
          remove_listener(on, "DELETE FROM holdfast_listeners WHERE client = ?1") {}

    statement load, save, erase, scan, listen, stop_listening, listeners, add_client, client, remove_client,
        remove_listener;
};

records::records(const std::string& path, const std::string& boot_id, time_point wait_until) : file_(path) {
    file_.wait_for_writers_until(wait_until);
    // On one machine nothing is gained by waiting for the disk: what a crash of the kernel loses, it takes
    // from processes that are gone as well.
    file_.run("PRAGMA synchronous = NORMAL");
    // Only a new file gets it. A commit writes whole pages, and most records are small.
    file_.run("PRAGMA page_size = 1024");
    make_tables();
    write_ahead(wait_until);
    prepared_ = std::make_shared<statements>(file_);
    forget_an_earlier_boot(boot_id);
}

void records::make_tables() {
    // In this order: another process may make the tables meanwhile, and with them its mark.
    const bool has_tables = file_.number_of("SELECT count(*) FROM sqlite_master") != 0;
    const auto of = file_.number_of("PRAGMA application_id");
    if (of == application) {
        if (const auto found = file_.number_of("PRAGMA user_version"); found != layout) {
            throw error(make_error_code(errc::invalid_argument),
                        "sqlite: " + file_.path() + " has the layout " + std::to_string(found) +
                            " of another version of holdfast; this one knows " + std::to_string(layout));
        }
        return;
    }
    if (of != 0 || has_tables) {
        throw error(make_error_code(errc::invalid_argument),
                    "sqlite: " + file_.path() +
                        " is the database of another program; locks need a file of their own");
    }
    transaction all(file_);
    // Another process may have made them just now.
    if (file_.number_of("PRAGMA application_id") == 0) file_.run(tables);
    all.commit();
}

// Readers do not wait for a writer then. SQLite does not wait by itself for other processes that open the
// file at the same moment.
void records::write_ahead(time_point until) {
    while (file_.text_of("PRAGMA journal_mode") != "wal") {
        try {
            file_.run("PRAGMA journal_mode = WAL");
        } catch (const database_error& e) {
            const bool may_wait = e.what_happened() == database_error::effect::none_busy;
            if (!may_wait || boot_clock::now() >= until) throw;
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }
}

void records::forget_an_earlier_boot(const std::string& boot_id) {
    if (file_.text_of("SELECT boot FROM holdfast_store") == boot_id) return;
    transaction all(file_);
    if (file_.text_of("SELECT boot FROM holdfast_store") == boot_id) return;
    std::vector<std::pair<lock_name, loaded>> found;
    scan({}, [&](const lock_name& name, const engine::lock_record& r) {
        found.push_back({name, {r, engine::to_bytes(r)}});
    });
    for (auto& [name, one] : found) {
        // Their permits come back as those of expired holders do.
        for (const auto& h : one.record.holders)
            if (one.record.count) one.record.count->value += h.holds;
        one.record.holders.clear();
        one.record.queue.clear();
        one.record.operations.clear();
        save(name, one);
    }
    file_.run("DELETE FROM holdfast_listeners");
    file_.run("DELETE FROM holdfast_clients");
    statement boot(file_, "UPDATE holdfast_store SET boot = ?1");
    boot.bind_text(1, boot_id).run();
    all.commit();
}

engine::lock_record records::decode(std::string_view bytes) const {
    auto record = engine::from_bytes(bytes);
    if (record) return *std::move(record);
    throw database_error(database_error::effect::none,
                         {make_error_code(errc::wrong_kind),
                          "the database " + file_.path() + " has a record that is no lock of holdfast's"});
}

records::loaded records::load(const lock_name& name) {
    execution s(prepared_->load);
    s->bind(1, name.str());
    if (!s->step()) return {};
    const auto bytes = s->blob(0);
    return {decode(bytes), std::string{bytes}};
}

bool records::save(const lock_name& name, const loaded& what) {
    const auto& r = what.record;
    if (r.idle() && r.last_fence == 0) {
        if (what.bytes.empty()) return false;
        prepared_->erase.bind(1, name.str()).run();
        return true;
    }
    const auto bytes = engine::to_bytes(r);
    if (bytes == what.bytes) return false;
    prepared_->save.bind(1, name.str()).bind(2, bytes).run();
    return true;
}

void records::scan(std::string_view prefix,
                   const std::function<void(const lock_name&, const engine::lock_record&)>& seen) {
    execution s(prepared_->scan);
    s->bind(1, prefix);
    while (s->step()) {
        const auto name = s->blob(0);
        if (!name.starts_with(prefix)) return;
        seen(lock_name{name}, decode(s->blob(1)));
    }
}

void records::listen(const lock_name& name, const std::string& client) {
    prepared_->listen.bind(1, name.str()).bind_text(2, client).run();
}

void records::stop_listening(const lock_name& name, const std::string& client) {
    prepared_->stop_listening.bind(1, name.str()).bind_text(2, client).run();
}

std::vector<std::string> records::listeners(const lock_name& name) {
    execution s(prepared_->listeners);
    s->bind(1, name.str());
    std::vector<std::string> all;
    while (s->step()) all.emplace_back(s->blob(0));
    return all;
}

void records::add_client(const client_row& who) {
    prepared_->add_client.bind_text(1, who.id).bind(2, who.pid).bind_text(3, who.process_namespace).run();
}

std::optional<client_row> records::client(const std::string& id) {
    execution s(prepared_->client);
    s->bind_text(1, id);
    if (!s->step()) return std::nullopt;
    return client_row{id, s->number(0), std::string{s->blob(1)}};
}

void records::remove_client(const std::string& id) {
    prepared_->remove_client.bind_text(1, id).run();
    prepared_->remove_listener.bind_text(1, id).run();
}

}  // namespace holdfast::sqlite_backend
