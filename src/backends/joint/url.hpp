// The URL of a store made of stores: its settings, its arbiter and its levels.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::joint_backend {

using std::chrono::milliseconds;

struct level_url {
    std::string url;
    std::string place;    // without user, password and options: shown to people, and compared between clients
    std::string given{};  // as written, without the options that it gets here
    // After a restart that may have lost its locks and fences it grants nothing for so long, and it never
    // grants a longer lease. Empty: it loses nothing.
    std::optional<milliseconds> longest_lease{};
};

struct joint_config {
    level_url arbiter;
    std::string group = "default";  // groups change their mode independently
    // How long a client may use the mode that the arbiter has confirmed. It should outlast the arbiter's own
    // fail-over.
    milliseconds mode_lease{20'000};
    // By how much the clocks of the levels may differ: fences follow them. Shorter than each longest_lease: a
    // level may have been raised to fences that are ahead of its own clock by that much, and its clock must
    // have passed them when it grants locks again without knowing them.
    milliseconds max_skew{1'000};
    std::vector<level_url> levels;
    // While the group changes its mode automatically: how long a level must fail before it is left, and how
    // long a preferred one must work before it is used again.
    milliseconds down_for{3'000};
    milliseconds healthy_for{60'000};
    // The way out while the arbiter is lost: use this level (an index) and ask no arbiter. Unsafe unless all
    // clients of the group do the same.
    std::optional<std::size_t> pin{};

    // What all clients of a group must have alike, in one line for people.
    [[nodiscard]] std::string agreed() const;
    // The URL again, with "***" for each password.
    [[nodiscard]] std::string shown() const;
};

//   joint:[option=value,...]URL,URL[,URL...]
// Options: arbiter, group, mode_lease, max_skew, down_for, healthy_for, pin. Without an arbiter the last
// level is the arbiter, too. 2 to 8 levels, the preferred one first. A comma begins a new URL only if
// "redis://", "sqlite:" or the like follows. Throws holdfast::error (errc::invalid_argument) with a sentence
// that names the bad part, and never a password.
[[nodiscard]] joint_config parse_url(std::string_view url);

}  // namespace holdfast::joint_backend
