// The kinds of lock and their names.
#pragma once

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

// In the order of kind. An array of the language: <array> costs each user of a lock more than the rest.
inline constexpr kind_name kind_names[] = {
    {kind::native, "mutex", "mutex"},
    {kind::native_fenced, "mutex", "mutex"},
    {kind::recursive, "recursive_mutex", "recursive"},
    {kind::recursive_fenced, "fenced_mutex", "fenced"},
    {kind::fair, "fair_mutex", "fair"},
    {kind::shared_read, "shared_mutex", "shared"},
    {kind::shared_write, "shared_mutex", "shared"},
    {kind::semaphore, "counting_semaphore", "semaphore"},
    {kind::permit_semaphore, "permit_semaphore", "permits"},
    {kind::latch, "latch", "latch"},
};
static_assert([] {
    int place = 0;
    for (const auto& row : kind_names)
        if (static_cast<int>(row.of) != place++) return false;
    return place == static_cast<int>(kind::latch) + 1;  // the last kind
}());

[[nodiscard]] constexpr std::string_view type_name(kind k) noexcept {
    return kind_names[static_cast<unsigned>(k)].type;
}
[[nodiscard]] constexpr std::string_view option_name(kind k) noexcept {
    return kind_names[static_cast<unsigned>(k)].option;
}

}  // namespace holdfast
