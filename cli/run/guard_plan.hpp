// Decides when the guard ends its command. Decisions only: no process, no clock.
#pragma once

#include "cli/run/guard_link.hpp"

#include <variant>

namespace holdfast::cli {

// What happened. With each event but command_ended the plan also looks at its deadlines. After command_ended
// a newer order may be waiting, so `noticed` follows when that order has been read.
struct noticed {};
struct ordered {
    guard_order order;
};
struct link_broken {};    // `holdfast run` is gone
struct command_ended {};  // processes that it started may still be alive
struct nobody_left {};    // neither the command nor any of its descendants is alive
using guard_event = std::variant<noticed, ordered, link_broken, command_ended, nobody_left>;

// What to do now, in this order.
struct guard_action {
    enum class signal {
        none,
        term,         // TERM to all
        term_others,  // TERM to all outside the command's group
        kill,         // KILL to all
    };
    signal send = signal::none;
    bool report_that_it_ends = false;  // report began_to_end
    bool report_that_none_is_left = false;
    bool exit = false;
    boot_clock::time_point look_again = boot_clock::time_point::max();
    boot_clock::time_point kill_at = boot_clock::time_point::max();  // with TERM: stop sending it then
};

//  phase    | the guard                            | leaves when
//  ---------|--------------------------------------|---------------------------------------------------------
//  watching | waits for orders and deadlines       | an order, a deadline, the broken link say so
//  ending   | has sent TERM                        | the command has ended, the grace is over, nobody is left
//  killing  | sends KILL                           | nobody is left
//  clear    | waits for leave, or the broken link  | it comes
//  over     | exits                                |
class guard_plan {
  public:
    using time_point = boot_clock::time_point;

    [[nodiscard]] guard_action resume(const guard_event& what, time_point now);
    // While this is true, the caller looks now and then whether any process is left.
    [[nodiscard]] bool ends_the_command() const noexcept { return phase_ == phase::ending || kills(); }
    [[nodiscard]] bool kills() const noexcept { return phase_ == phase::killing; }

  private:
    enum class phase { watching, ending, killing, clear, over };
    using signal = guard_action::signal;

    void begin(signal term, time_point now, guard_action& todo);
    void kill(time_point now, guard_action& todo);
    void carry_out(const guard_order& order, time_point now, guard_action& todo);
    void look(time_point now, guard_action& todo);
    [[nodiscard]] time_point kill_at() const noexcept;

    phase phase_ = phase::watching;
    guard_order order_{};
    bool alone_ = false;    // run is gone
    bool ended_ = false;    // the command has ended
    time_point term_at_{};  // in ending
};

}  // namespace holdfast::cli
