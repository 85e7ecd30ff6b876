// A place where a lock is kept, as the director reads it: the truth.
#pragma once

#include "lab/connection.hpp"
#include "lab/database.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace holdfast::lab {

struct keeping {
    std::string identity;                             // the owner as stored; empty: nobody
    std::optional<std::chrono::milliseconds> left{};  // until it expires; empty: never
};

class keeper {
  public:
    keeper() = default;
    keeper(const keeper&) = delete;
    keeper& operator=(const keeper&) = delete;
    virtual ~keeper() = default;

    [[nodiscard]] virtual keeping look(const std::string& key) = 0;
};

class redis_keeper final : public keeper {
  public:
    explicit redis_keeper(const std::string& socket, const std::string& password = {})
        : link_(socket, password) {}

    [[nodiscard]] keeping look(const std::string& key) override;
    [[nodiscard]] connection& link() noexcept { return link_; }

  private:
    connection link_;
};

// A row of the table distributed_lock, which the constructor creates.
class table_keeper final : public keeper {
  public:
    explicit table_keeper(const std::string& file);

    [[nodiscard]] keeping look(const std::string& key) override;

  private:
    database database_;
};

}  // namespace holdfast::lab
