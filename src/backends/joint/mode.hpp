// Which levels of a group each lock needs now, as the arbiter keeps it.
//
// A mode needs one level, or two neighbours: {1} <-> {1,2} <-> {2} <-> {2,3} <-> {3}. Neighbouring modes
// share a level, so their lock holders exclude each other. Two modes that share none never are in use at the
// same time: between them stands a mode with two levels, which lasts longer than any client may use the one
// before.
#pragma once

#include "engine/validity.hpp"
#include "store/mode_switch.hpp"

#include <holdfast/group_mode.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::joint_backend {

using admin::mode_author;
using backend::change_signature;
using engine::time_point;
using std::chrono::milliseconds;

// Indices of levels. Of two, the one of the mode before comes first: whoever takes both takes that one first.
// Lock holders of that mode hold it, and so take the other one before any newcomer.
using needed_levels = std::vector<std::size_t>;

struct recorded_change {
    std::uint64_t epoch = 0;
    needed_levels needed;
    std::int64_t at = 0;  // milliseconds since 1970, by the author's clock; for people
    mode_author author;
};

// Whether clients change the mode by themselves (automatic_rule.hpp), and who said so last.
struct recorded_automation {
    bool on = false;
    std::int64_t at = 0;  // as in recorded_change
    mode_author author;
};

struct mode_record {
    std::uint64_t epoch = 0;  // counts the changes
    needed_levels needed;
    std::string agreed;  // see joint_config::agreed()
    std::optional<recorded_automation> automation{};
    std::vector<recorded_change> history{};  // the latest last
    // With two levels: one client has waited until no client uses the mode before (shortest_joint_mode), so
    // that no other has to.
    bool settled = false;

    [[nodiscard]] bool is_automatic() const noexcept { return automation && automation->on; }

    [[nodiscard]] bool is_joint() const noexcept { return needed.size() == 2; }
};

// The text of the arbiter's register. parse(): empty if it is none, or of a newer version.
[[nodiscard]] std::string to_text(const mode_record&);
[[nodiscard]] std::optional<mode_record> parse(std::string_view text, std::size_t levels);

// The mode of a group that was never changed.
[[nodiscard]] mode_record first_mode(std::string agreed);
// The record with one more change. A change by hand ends automation: two authorities would undo each other's
// changes.
enum class changed_by { hand, majority };
[[nodiscard]] mode_record changed(mode_record from, needed_levels to, std::int64_t at, mode_author author,
                                  changed_by how = changed_by::hand);
// The same mode, with two levels, to stay.
[[nodiscard]] mode_record settled(mode_record from, std::int64_t at, mode_author author);
// The same mode, changed automatically from now on, or not any more.
[[nodiscard]] mode_record automated(mode_record from, bool on, std::int64_t at, mode_author author);

// The mode that follows on the way to `goal` alone. Empty: it is reached.
[[nodiscard]] std::optional<needed_levels> next_step(const needed_levels& now, std::size_t goal);

// The mode with this level and its neighbour: the next one, if there is one.
[[nodiscard]] needed_levels with_neighbour(std::size_t level, std::size_t levels);

// How long a mode with two levels lasts at least, counted by the author of the next change from when he saw
// it: until no client uses the mode before, and the clocks of both levels have passed the fences given then.
[[nodiscard]] boot_clock::duration shortest_joint_mode(milliseconds mode_lease, milliseconds max_skew,
                                                       const engine::clock_margin& margin);

// "level 1", "levels 1 and 2"
[[nodiscard]] std::string in_words(const needed_levels&);

}  // namespace holdfast::joint_backend
