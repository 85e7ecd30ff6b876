// The options of holdfast in the URL of a database.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace holdfast::sql_backend {

// Whose table has the locks.
enum class layout { holdfast, shedlock };

// create=true, layout=holdfast|shedlock, restarts=trusted|quarantined, longest_lease (a duration). Functions
// throw holdfast::error (errc::invalid_argument), with a text that begins with the name of the store.
class url_options {
  public:
    explicit url_options(std::string_view store) : store_(store) {}

    // False: it is none of them.
    bool take(std::string_view name, std::string_view value);
    // Call it after all options.
    void check() const;

    [[nodiscard]] bool create() const noexcept { return create_; }  // make the tables that are missing
    [[nodiscard]] layout table() const noexcept { return table_; }
    // Grant nothing for this long after the server may have lost locks, and no longer lease; empty: trust it.
    [[nodiscard]] std::optional<std::chrono::milliseconds> longest_lease() const;

  private:
    [[noreturn]] void refuse(std::string_view why) const;

    const std::string_view store_;
    bool create_ = false;
    layout table_ = layout::holdfast;
    bool quarantined_ = false;
    std::optional<std::chrono::milliseconds> longest_lease_;
};

// A host, or the path of a socket, of this machine.
[[nodiscard]] bool is_local(std::string_view host) noexcept;

}  // namespace holdfast::sql_backend
