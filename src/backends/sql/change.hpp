// A change of one lock's record: read it, apply the request, and write it if nobody has changed it meanwhile.
// A record that this client remembers is not read before.
#pragma once

#include "backends/common/owner_serials.hpp"
#include "backends/sql/database.hpp"
#include "backends/sql/database_clock.hpp"
#include "backends/sql/dialect.hpp"
#include "backends/sql/remembered_records.hpp"
#include "backends/sql/versions.hpp"
#include "engine/lock_record.hpp"
#include "io/reactor.hpp"

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <variant>

namespace holdfast::sql_backend {

inline constexpr std::uint32_t fences_per_grant = 16;  // the grant itself has the first

// The client in an owner: the part before '|'. Empty: the owner does not show it.
[[nodiscard]] std::string client_in(const owner_id& owner);

// A record as it was read.
struct loaded {
    engine::lock_record record;
    std::string bytes;         // empty: there is no row
    std::int64_t version = 0;  // 0: there is no row
    engine::store_time now;    // the database's time
    // Clients that receive no messages, of those that the statement asked about, as number_of() says.
    std::set<std::int64_t> gone{};
};
// The result of dialect::load, or what is wrong with it.
[[nodiscard]] std::variant<loaded, fault> read_record(const rows& result);

// What a client knows of the database without asking it.
struct knowledge {
    versions next_version;
    database_clock clock{};
    remembered_records records{};
};

// What all changes of a store use.
struct change_tools {
    database& on;
    const dialect& speaks;
    io::reactor& reactor;
    backends::owner_serials& serials;
    knowledge& known;
    std::chrono::milliseconds remembers;  // see engine::circumstances
    // Whether messages reach a waiter of this client; for others the database knows it.
    std::string this_client;
    std::function<bool(backend::kind, const owner_id&)> waits_here;
    // Whether this client receives messages of others now. Empty: it does.
    std::function<bool()> hears{};
};

// What a request does to a record.
struct effect {
    engine::messages notify{};
    // A crash of the server must not undo it, once it was answered.
    bool durable = true;
    // Nothing depends on that it is written.
    bool needless = false;
    // Write a new version in any case: a request that is still on its way must not find the old one, or what
    // was read may not be safe yet.
    bool writes_anyway = false;
};

struct change_work {
    // May be called several times, each time with the record as it is then; the last call counts.
    std::function<effect(engine::lock_record&, const engine::circumstances&)> apply;
    // Called once, after the record was written: `what` is empty if it was, or if it did not have to be.
    std::function<void(const fault* what, const effect& done)> done;
};

// Reads, applies and writes until no other client has come between, or until the deadline.
void change_record(const change_tools& with, const lock_name& name, time_point deadline, change_work work);

}  // namespace holdfast::sql_backend
