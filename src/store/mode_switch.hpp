// The mode of a store made of stores.
#pragma once

#include "store/requests.hpp"

#include <holdfast/group_mode.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::backend {

using admin::group_mode;
using admin::mode_author;

// The author and the moment of a change, in milliseconds since 1970. Together they identify the change.
struct change_signature {
    mode_author author;
    std::int64_t at = 0;
};

// What a client knows of its group without asking.
struct known_mode {
    std::string group;
    bool arbiter_is_up = true;     // it has answered the last question
    std::uint64_t epoch = 0;       // counts the changes; 0: the group has no mode yet, or it is not known
    std::vector<bool> needed;      // which levels; none before the mode is known
    boot_clock::duration left{0};  // of the mode lease; 0: it has passed, so the client has no valid lease
};

// Requests work as in store.hpp.
class mode_switch {
  public:
    mode_switch() = default;
    mode_switch(const mode_switch&) = delete;
    mode_switch& operator=(const mode_switch&) = delete;
    virtual ~mode_switch() = default;

    [[nodiscard]] virtual known_mode known() const = 0;
    // What the arbiter says now.
    virtual void read_mode(time_point deadline, handler<result<group_mode>>) = 0;

    // The next mode on the way from `from` to `level` alone. Fails with errc::busy_server while
    // group_mode::must_last is not over, and with errc::lost if the mode is not `from` any more. The group
    // does not change its mode automatically any more.
    virtual void step_towards(std::size_t level, const group_mode& from, const change_signature&,
                              time_point deadline, handler<result<group_mode>>) = 0;

    // The same on the way to a mode that needs the level in use and its neighbour, and stays.
    virtual void step_towards_two(const group_mode& from, const change_signature&, time_point deadline,
                                  handler<result<group_mode>>) = 0;

    // Tries whether a level, an index of group_mode::levels, grants locks now: why not, or empty.
    virtual void try_level(std::size_t level, time_point deadline, handler<std::optional<failure>>) = 0;

    // From now on clients change the mode by themselves when a level fails, or not any more. Fails with
    // errc::lost if another client was faster.
    virtual void automate(bool on, const change_signature&, time_point deadline,
                          handler<result<group_mode>>) = 0;
};

}  // namespace holdfast::backend
