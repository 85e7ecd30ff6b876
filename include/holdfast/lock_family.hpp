// Groups of locks whose metrics are counted together.
#pragma once

#include <string>
#include <string_view>

namespace holdfast {

// A lock belongs to the first family whose pattern matches its name, or to the rest, which is called "other".
// Metrics name families and never locks, of which there may be millions.
struct lock_family {
    static constexpr std::string_view of_others = "other";

    std::string name;   // 1 to 64 letters, digits, "_", "-" and "."
    std::string match;  // a glob: "stock:*"
};

}  // namespace holdfast
