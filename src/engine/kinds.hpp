// The kinds of lock, one row each: what they have in common and where they differ, as far as the client
// decides it. Each store decides how to store a kind.
#pragma once

#include "engine/local_queue.hpp"

#include <holdfast/kind.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace holdfast::engine {

// Kinds of one family are one lock with several interfaces: with the same name they exclude each other. Using
// one name for kinds of different families is a mistake.
enum class family { string, hash, shared, semaphore, latch };

struct kind_rules {
    kind of;
    family belongs_to;
    queueing threads = queueing::one_holds;
    // A thread that holds it by lock() may lock it again.
    bool reentrant = false;
    bool fenced = false;     // each grant gives a fence
    bool has_queue = false;  // the store hands it to the first waiter of its queue
    // Most permits per acquisition. More than one: it is a semaphore.
    std::uint32_t most_permits = 1;
};

// In the order of kind. Readers and fair_mutex have no queue in the process: many readers hold at once, and
// the store keeps the queue of all processes for a fair_mutex.
inline constexpr std::array kind_table{
    kind_rules{.of = kind::native, .belongs_to = family::string, .has_queue = true},
    kind_rules{.of = kind::native_fenced, .belongs_to = family::string, .fenced = true, .has_queue = true},
    kind_rules{.of = kind::recursive, .belongs_to = family::hash, .reentrant = true},
    kind_rules{.of = kind::recursive_fenced, .belongs_to = family::hash, .reentrant = true, .fenced = true},
    kind_rules{.of = kind::fair,
               .belongs_to = family::hash,
               .threads = queueing::all_ask,
               .reentrant = true,
               .has_queue = true},
    kind_rules{.of = kind::shared_read,
               .belongs_to = family::shared,
               .threads = queueing::all_ask,
               .reentrant = true},
    kind_rules{.of = kind::shared_write, .belongs_to = family::shared, .reentrant = true},
    kind_rules{.of = kind::semaphore,
               .belongs_to = family::semaphore,
               .threads = queueing::one_asks,
               .most_permits = 1'000'000'000},
    // The store writes down an id for each permit.
    kind_rules{.of = kind::permit_semaphore,
               .belongs_to = family::semaphore,
               .threads = queueing::one_asks,
               .most_permits = 1'000},
    kind_rules{.of = kind::latch, .belongs_to = family::latch, .threads = queueing::all_ask},
};
static_assert(kind_table.back().of == kind::latch);  // the last kind
static_assert([] {
    for (std::size_t i = 0; i < kind_table.size(); ++i)
        if (static_cast<std::size_t>(kind_table[i].of) != i) return false;
    return true;
}());

[[nodiscard]] constexpr const kind_rules& rules_of(kind k) noexcept {
    return kind_table[static_cast<std::size_t>(k)];
}

}  // namespace holdfast::engine
