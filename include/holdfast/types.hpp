// Basic types: a lock's name, an owner, a fence and the clock.
#pragma once

#include <holdfast/export.hpp>

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast {

// The clock that measures leases: CLOCK_BOOTTIME, which keeps running while the machine sleeps.
// std::chrono::steady_clock stops then, but a lease on a server does not.
struct HOLDFAST_API boot_clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<boot_clock>;
    static constexpr bool is_steady = true;

    [[nodiscard]] static time_point now() noexcept;
};

// The name of a lock: 1 to 1024 arbitrary bytes, used as the key in the store, unchanged.
// Construction throws holdfast::error (errc::invalid_argument) for an empty or longer name.
class HOLDFAST_API lock_name {
  public:
    static constexpr std::size_t max_size = 1024;

    lock_name(std::string_view bytes);
    lock_name(const std::string& bytes) : lock_name(std::string_view{bytes}) {}
    lock_name(const char* bytes) : lock_name(std::string_view{bytes}) {}

    [[nodiscard]] const std::string& str() const noexcept { return bytes_; }
    // For people: control characters, invisible characters and bytes that are not UTF-8 are written as \xNN.
    [[nodiscard]] std::string printable() const;

    friend bool operator==(const lock_name&, const lock_name&) = default;
    friend auto operator<=>(const lock_name&, const lock_name&) = default;

  private:
    std::string bytes_;
};

// The identity of a holder or waiter, which the store compares before it releases. Each acquisition that
// reaches the store has a new one. Its form depends on the store.
class owner_id {
  public:
    owner_id() = default;
    explicit owner_id(std::string bytes) : bytes_(std::move(bytes)) {}

    [[nodiscard]] const std::string& str() const noexcept { return bytes_; }
    [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
    // As lock_name::printable(): foreign clients may write any bytes.
    [[nodiscard]] HOLDFAST_API std::string printable() const;

    friend bool operator==(const owner_id&, const owner_id&) = default;
    friend auto operator<=>(const owner_id&, const owner_id&) = default;

  private:
    std::string bytes_;
};

// A number that grows with every grant of one lock. Pass it to the resource, which must refuse a write with a
// fence older than one it has seen. Zero means that the lock has no fences.
enum class fence : std::uint64_t { none = 0 };

[[nodiscard]] constexpr std::uint64_t to_number(fence f) noexcept { return static_cast<std::uint64_t>(f); }

// The exclusion that a lease stands for, the weakest first.
enum class strength {
    process_local,  // excludes only threads of this process
    host_local,     // excludes only processes of this machine
    single,         // excludes every client of one store, as docs/safety.md S2 says
    quorum,  // the same, even if a minority of several independent servers is lost (docs/wire/redlock.md)
    fenced_quorum,  // and the lease carries a fence that a majority of them knows
};
[[nodiscard]] HOLDFAST_API std::string_view to_string(strength s) noexcept;  // "process_local"

}  // namespace holdfast
