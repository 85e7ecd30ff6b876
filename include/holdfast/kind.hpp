// The kinds of lock and their names.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace holdfast {

enum class kind {
    native,            // mutex
    native_fenced,     // mutex with .fenced = true: native, and a fence on every grant
    recursive,         // recursive_mutex
    recursive_fenced,  // fenced_mutex: recursive, and a fence on every grant
    fair,              // fair_mutex: recursive, and the store keeps the queue of its waiters
    shared_read,       // shared_mutex, one of many readers
    shared_write,      // shared_mutex, the writer
    semaphore,         // counting_semaphore: permits that have an owner and come back
    permit_semaphore,  // permit_semaphore: the same in Redisson's form, where each permit has an id
    latch,             // latch: it has no owner; it is granted to all when its count is zero
};

// What a kind is called.
struct kind_name {
    kind of;
    std::string_view type;    // its class, as lock_info::layout shows it
    std::string_view option;  // in the options of the command
};

// In the order of kind.
inline constexpr std::array kind_names{
    kind_name{kind::native, "mutex", "mutex"},
    kind_name{kind::native_fenced, "mutex", "mutex"},
    kind_name{kind::recursive, "recursive_mutex", "recursive"},
    kind_name{kind::recursive_fenced, "fenced_mutex", "fenced"},
    kind_name{kind::fair, "fair_mutex", "fair"},
    kind_name{kind::shared_read, "shared_mutex", "shared"},
    kind_name{kind::shared_write, "shared_mutex", "shared"},
    kind_name{kind::semaphore, "counting_semaphore", "semaphore"},
    kind_name{kind::permit_semaphore, "permit_semaphore", "permits"},
    kind_name{kind::latch, "latch", "latch"},
};
static_assert([] {
    for (std::size_t i = 0; i < kind_names.size(); ++i)
        if (static_cast<std::size_t>(kind_names[i].of) != i) return false;
    return kind_names.back().of == kind::latch;  // the last kind
}());

[[nodiscard]] constexpr std::string_view type_name(kind k) noexcept {
    return kind_names[static_cast<std::size_t>(k)].type;
}
[[nodiscard]] constexpr std::string_view option_name(kind k) noexcept {
    return kind_names[static_cast<std::size_t>(k)].option;
}

}  // namespace holdfast
