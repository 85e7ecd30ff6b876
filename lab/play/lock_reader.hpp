// A place where a lock is kept, as the director reads it: the truth.
#pragma once

#include "lab/base/connection.hpp"
#include "lab/base/database.hpp"

#include "cli/process/unique_fd.hpp"

#include <holdfast/client.hpp>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

namespace holdfast::lab {

struct stored_lock {
    std::string identity;                             // the owner as stored; empty: nobody
    std::optional<std::chrono::milliseconds> left{};  // until it expires; empty: never
};

class lock_reader {
  public:
    lock_reader() = default;
    lock_reader(const lock_reader&) = delete;
    lock_reader& operator=(const lock_reader&) = delete;
    virtual ~lock_reader() = default;

    [[nodiscard]] virtual stored_lock look(const std::string& key) = 0;
};

class redis_lock_reader final : public lock_reader {
  public:
    explicit redis_lock_reader(const std::string& socket, const std::string& password = {})
        : link_(socket, password) {}

    [[nodiscard]] stored_lock look(const std::string& key) override;
    [[nodiscard]] connection& link() noexcept { return link_; }

  private:
    connection link_;
};

// A row of the table distributed_lock, which the constructor creates.
class table_lock_reader final : public lock_reader {
  public:
    explicit table_lock_reader(const std::string& file);

    [[nodiscard]] stored_lock look(const std::string& key) override;

  private:
    database database_;
};

// The database locks.db of holdfast clients in this folder, as holdfast::admin::inspect() reads it.
class sqlite_store_reader final : public lock_reader {
  public:
    explicit sqlite_store_reader(const std::filesystem::path& folder);

    [[nodiscard]] stored_lock look(const std::string& key) override;

  private:
    cli::unique_fd folder_;
    client locks_;
};

}  // namespace holdfast::lab
