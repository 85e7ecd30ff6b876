// Taking several locks, all or none, decided without I/O: one after the other in an order that everybody who
// uses them agrees on, so that two who want the same ones cannot wait for each other for ever. Should
// somebody not agree (another spelling of a URL, another library), then no longer than `patience`.
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
    std::optional<time_point> give_up_at;  // empty: each is asked once
    // While we hold some, we wait for the next no longer than this; then we give back all and begin again.
    // Not the same for everybody, else two who block each other would begin again side by side.
    boot_clock::duration patience{};
};

struct ask_member {
    std::size_t which;
    std::optional<time_point> give_up_at;  // empty: once
};
// All that are held, the latest first; then on_given_back().
struct give_all_back {};
struct hold_all {};
struct end_without {
    enum class reason {
        busy,       // somebody else had `which` for the whole wait
        failed,     // `which` could not be asked
        too_short,  // nobody was in the way, and yet one was over before the last was had
    } why;
    std::size_t which;
};
using all_action = std::variant<ask_member, give_all_back, hold_all, end_without>;

class all_or_nothing {
  public:
    explicit all_or_nothing(const all_settings& how) : how_(how) {}

    [[nodiscard]] all_action begin();
    // The member that was asked for is held. `sound`: it and all before it still are.
    [[nodiscard]] all_action on_held(bool sound);
    // Somebody else has it.
    [[nodiscard]] all_action on_busy(time_point now);
    [[nodiscard]] all_action on_failed();
    [[nodiscard]] all_action on_given_back();

  private:
    [[nodiscard]] all_action ask();
    [[nodiscard]] all_action begin_again();
    [[nodiscard]] all_action end(end_without::reason why);

    const all_settings how_;
    std::size_t at_ = 0;
    bool waiting_ = false;            // for `at_`, since it was busy
    bool waited_ = false;             // for somebody, while we held others
    std::optional<end_without> end_;  // once all is given back
};

}  // namespace holdfast::engine
