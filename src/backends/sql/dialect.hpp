// The statements on the table of locks, as one kind of database wants them.
#pragma once

#include "backends/sql/database.hpp"

#include <string>
#include <vector>

namespace holdfast::sql_backend {

// A row has the name of a lock, its engine::lock_record as bytes, and a version. Every change writes a
// version that no other change has written (see versions): a row that has the version that a client knows is
// as that client knows it, although rows are deleted and servers lose commits.
struct dialect {
    // How a waiter learns that a lock was handed to it, or may be free.
    enum class wake {
        by_message,
        by_ring,     // it is woken, but not told for which lock: it asks for all
        by_polling,  // it asks now and then
    } wakes = wake::by_message;
    // (name, clients) -> record, version, microseconds since 1970 by the database's clock, those of `clients`
    // that receive no messages. Always one row; without a lock, record and version are NULL. The clock is
    // read after the record: the time is later than everything in it.
    prepared load;
    // (name, record, new version) -> version; no row: there is one already.
    prepared insert;
    // (name, version, record, durable, new version) -> version; no row: the version is another one.
    prepared save;
    // The same with (..., earliest, latest), in microseconds. No row: the version is another one, or the
    // database's clock is not between the two.
    prepared save_at;
    // (names) -> name, record, version, microseconds.
    prepared load_many;
    // (names, versions, records, new versions) -> the names that were saved.
    prepared save_many;
    // (greater than this name, at most) -> name, record, in order.
    prepared scan;
    // (greater than this name, at most) -> name, record, version, microseconds: in order, of those that
    // nobody has changed for a week.
    prepared unused;
    // (names, versions) -> the names that were removed.
    prepared remove;
    struct register_statements {
        // (name) -> record, version: by a locking read, which only a server that takes writes carries out. A
        // row without a record: it is none.
        prepared read;
        // As those of locks; on a server that takes no writes, no row or a fault.
        prepared insert;
        prepared save;
    };
    register_statements registers{};
    // (clients, texts) sends messages, or rings.
    prepared send{};
    // (channel, text) sends a message to all that listen -> how many other clients do.
    prepared send_to_all{};
    // (session) ends the session of the mailbox, where the end of its connection is noticed late.
    prepared end_mailbox{};
    // () -> what the connections of clients are called: see parse_label(). NULL: there may be others.
    prepared clients;
    // () -> microseconds since 1970.
    prepared clock;

    std::string (*list_of_blobs)(const std::vector<std::string>&);
    std::string (*list_of_texts)(const std::vector<std::string>&);
    std::string (*list_of_numbers)(const std::vector<std::int64_t>&);
};

// A number for what clients are told apart by in the database: FNV-1a, the same on every machine.
[[nodiscard]] std::int64_t number_of(std::string_view text) noexcept;

// The channel of the waiters for a lock without a queue.
[[nodiscard]] std::string channel_of(const lock_name& name);

// How a client calls its connections, for operators: "holdfast:<id>:<pid>:<host>".
struct label {
    std::string client;
    std::int64_t pid = 0;
    std::string host;
};
[[nodiscard]] std::string to_text(const label&);
[[nodiscard]] std::optional<label> parse_label(std::string_view text);
[[nodiscard]] std::string label_of_this_process(const std::string& client);

}  // namespace holdfast::sql_backend
