// A rung of the ladder: a scheme, what goes wrong with it, and what cures it.
#pragma once

#include <span>
#include <string_view>

namespace holdfast::lab {

class director;

// A flaw, and the steps that make it happen. The same steps are played on the scheme that has the flaw, on
// the one that cures it, and on holdfast.
struct schedule {
    std::string_view name;
    std::string_view flaw;      // in a sentence without a full stop
    bool (*play)(director& d);  // true: the flaw was seen

    std::string_view flawed;  // a scheme
    std::string_view why;     // why it goes wrong, in sentences
    std::string_view cure;    // another scheme; empty: no article has one
    std::string_view why_cured;
    std::string_view ours;  // holdfast's scheme; empty: none of its locks can help here
    std::string_view why_ours;
    std::string_view joint{};  // holdfast's scheme of two stores, beside that of one; empty: nothing to add
    std::string_view why_joint{};
    // The schedule breaks what leases assume: only a fence helps, and two leases may be valid at once.
    bool leases_may_overlap = false;
};

struct rung {
    std::string_view name;
    std::string_view line;     // what the scheme does, in a line
    std::string_view article;  // that teaches it
    std::span<const schedule> schedules;
};

}  // namespace holdfast::lab
