// The tables of a store: lock records, who listens for messages, and the clients for people to see.
//
// The file is shared by processes of one boot of one kernel: the times in it are of CLOCK_BOOTTIME. After a
// restart of the machine nobody holds a lock, and only the last fences and the counts stay.
#pragma once

#include "backends/sqlite/database.hpp"
#include "engine/lock_record.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::sqlite_backend {

struct client_row {
    std::string id;
    std::int64_t pid = 0;
    std::string process_namespace;  // pids of another one mean other processes
};

// Within a transaction, as far as a function writes. Functions throw database_error.
class records {
  public:
    // Makes the tables if the file is new, and forgets what an earlier boot of the machine has left. Throws
    // holdfast::error if the file is the database of another program.
    records(const std::string& path, const std::string& boot_id, time_point wait_until);

    [[nodiscard]] database& file() noexcept { return file_; }

    // A record as it was read, to find out whether it has changed.
    struct loaded {
        engine::lock_record record;
        std::string bytes;  // empty: there is none
    };
    [[nodiscard]] loaded load(const lock_name& name);
    // True: it was written. A free lock without a fence has no row.
    bool save(const lock_name& name, const loaded& before);
    // Calls `seen` for all names that begin with `prefix`, in order.
    void scan(std::string_view prefix,
              const std::function<void(const lock_name&, const engine::lock_record&)>& seen);

    // The clients that want to know when the lock may be free.
    void listen(const lock_name& name, const std::string& client);
    void stop_listening(const lock_name& name, const std::string& client);
    [[nodiscard]] std::vector<std::string> listeners(const lock_name& name);

    void add_client(const client_row& who);
    [[nodiscard]] std::optional<client_row> client(const std::string& id);
    // Also ends all its listening.
    void remove_client(const std::string& id);

  private:
    void make_tables();
    void write_ahead(time_point until);
    void forget_an_earlier_boot(const std::string& boot_id);
    [[nodiscard]] engine::lock_record decode(std::string_view bytes) const;

    struct statements;

    database file_;
    std::shared_ptr<statements> prepared_;
};

}  // namespace holdfast::sqlite_backend
