// Acquires several locks, all or none, decided without I/O. It takes them one after the other in an order
// that all clients agree on, so that two clients cannot block each other for ever. If clients disagree on the
// order (another spelling of a URL, another library), they block each other no longer than `patience`.
#pragma once

#include <holdfast/types.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <variant>

namespace holdfast::engine {

using time_point = boot_clock::time_point;

struct all_settings {
    std::size_t members = 1;
    std::optional<time_point> give_up_at;  // empty: try each lock once
    // While holding some locks, it waits for the next no longer than this; then it releases all and starts
    // again. Clients use different values: otherwise two that block each other would start again at the same
    // time.
    boot_clock::duration patience{};
};

struct acquire_member {
    std::size_t which;
    std::optional<time_point> give_up_at;  // empty: one try
};
// Release all held locks, the latest first; then call on_all_released().
struct release_all_held {};
struct hold_all {};
struct end_without {
    enum class reason {
        busy,       // another owner had `which` for the whole wait
        failed,     // the request for `which` failed
        too_short,  // no lock was busy, and yet a lease expired before all locks were acquired
    } why;
    std::size_t which;
};
using all_action = std::variant<acquire_member, release_all_held, hold_all, end_without>;

class all_or_nothing {
  public:
    explicit all_or_nothing(const all_settings& how) : how_(how) {}

    [[nodiscard]] all_action begin();
    // The member asked for is held. `sound`: it and all members before it are still held.
    [[nodiscard]] all_action on_held(bool sound);
    // Another owner has it.
    [[nodiscard]] all_action on_busy(time_point now);
    [[nodiscard]] all_action on_failed();
    [[nodiscard]] all_action on_all_released();

  private:
    [[nodiscard]] all_action acquire_next();
    [[nodiscard]] all_action begin_again();
    [[nodiscard]] all_action end(end_without::reason why);

    const all_settings how_;
    std::size_t at_ = 0;
    bool waiting_ = false;            // for `at_`, since it was busy
    bool waited_ = false;             // for a busy member, while holding others
    std::optional<end_without> end_;  // set: the result to report once all are released
};

}  // namespace holdfast::engine
