// Lets allocations of the calling thread fail. The functions of the C++ library are replaced in this whole
// program.
#pragma once

#include <utility>

namespace holdfast::test {

enum class failure { of_one_allocation, of_all_from_then_on };

inline constexpr int never = -1;
inline thread_local int allocations_left = never;  // before the failure
inline thread_local auto what_fails = failure::of_one_allocation;

// Calls `work` again and again, each time with one more allocation that succeeds before the failure, until
// none fails. `then` runs after each call, with memory. Returns how many calls met the failure.
template <class Work, class Then>
int each_failure(failure which, Work work, Then then) {
    for (int n = 0;; ++n) {
        what_fails = which;
        allocations_left = n;
        work();
        const bool met = allocations_left <= 0;
        allocations_left = never;
        then();
        if (!met) return n;
    }
}

// Does `work` with memory, before the failure comes.
template <class Work>
void with_memory(Work work) {
    const int left = std::exchange(allocations_left, never);
    work();
    allocations_left = left;
}

}  // namespace holdfast::test
