// The locks of a run. Each client makes them by itself, and the checker must know them.
#pragma once

#include "chaos/history/event.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::chaos {

enum class lock_kind : std::uint8_t {
    mutex,
    fenced,  // mutex with .fenced
    recursive,
    changing,         // recursive_mutex that is held by lock(), without a renewal at first and with one later
    redisson_fenced,  // fenced_mutex
    fair,
    shared,
    semaphore,
    permit_semaphore,
    tasks,  // mutex that is acquired by async_acquire
    multi,  // multi_lock
    latch,
    scheme,  // of the lab
};

struct run_lock {
    lock_kind kind;
    lock_row row;
    // Keys that have no time to live and may stay: the number of free permits, and the holders of the
    // others; Redisson's counter of fences, and queue.
    std::vector<std::string> lasting{};
    // The members of a multi_lock.
    std::vector<std::string> members{};

    // The keys that hold it in the store.
    [[nodiscard]] std::vector<std::string> names() const {
        return members.empty() ? std::vector{row.name} : members;
    }
};

// The locks of holdfast, or of a scheme of the lab by its name, that the topology serves.
[[nodiscard]] std::vector<run_lock> locks_of(std::string_view subject, std::string_view topology);

// The places of the locks whose name contains `text`. Throws std::runtime_error if there is none.
[[nodiscard]] std::vector<std::size_t> places_of(const std::vector<run_lock>& locks, std::string_view text);

// The number of locks, counted from the first, whose keys may be deleted. Only for a single server.
[[nodiscard]] unsigned locks_with_deletable_keys(const std::vector<run_lock>& locks);

}  // namespace holdfast::chaos
