// The locks of a run, which its clients make by themselves and the checker must know.
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
    // Keys that have no time to live and are there to stay: of permits how many are free, and whose the
    // others are; Redisson's count of fences, and line.
    std::vector<std::string> lasting{};
    // The members of a multi_lock.
    std::vector<std::string> members{};

    // What holds it in the store.
    [[nodiscard]] std::vector<std::string> names() const {
        return members.empty() ? std::vector{row.name} : members;
    }
};

// Of holdfast, or of a scheme of the lab by its name: those that the topology serves.
[[nodiscard]] std::vector<run_lock> locks_of(std::string_view subject, std::string_view topology);

// Where those are whose name has `text` in it. Throws std::runtime_error if there is none.
[[nodiscard]] std::vector<std::size_t> places_of(const std::vector<run_lock>& locks, std::string_view text);

// The first so many. Only where there is one server to delete them on.
[[nodiscard]] unsigned locks_that_may_be_struck(const std::vector<run_lock>& locks);

}  // namespace holdfast::chaos
