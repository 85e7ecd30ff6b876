// Several processes that run the same loop for a while, and what they counted together.
#pragma once

#include "harness.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <utility>

namespace holdfast::bench {

// Memory that all processes of a crew share. Only the measured lock guards the counter.
struct shared_page {
    std::atomic<bool> over{false};
    std::atomic<int> inside{0};
    std::atomic<std::uint64_t> violations{0};
    std::uint64_t counter = 0;
    std::uint64_t changes = 0;  // of the process that has the lock
    int owner = 0;

    void enter() {
        if (inside.exchange(1) != 0) ++violations;
        ++counter;
        if (const int me = ::getpid(); std::exchange(owner, me) != me) ++changes;
    }
    void leave() { inside.store(0); }

    // The same for a semaphore of `permits` permits. Returns a number for leave_permit(). A process that
    // takes its last permit again has not handed it off.
    std::size_t enter_with_permit();
    void leave_permit(std::size_t at);

    static constexpr std::size_t permits = 2;
    std::atomic_flag taken;  // guards these, and counter and changes of a semaphore
    std::array<int, permits> holders{};
    std::array<int, permits> last_holders{};
};

// What one process counted; added up over the crew. `acquisitions` are also compared.
struct tally {
    std::uint64_t acquisitions = 0;
    std::uint64_t commands = 0;
    std::uint64_t attempts = 0;
};

// The body of a process: connects, calls `ready`, which returns when all are, works until page.over.
using crew_body = std::function<tally(int index, shared_page&, const std::function<void()>& ready)>;

// One turn of `n` processes. Throws if two held the lock at once, or an acquisition was not counted.
[[nodiscard]] sample run_crew(int n, milliseconds span, const crew_body&);

}  // namespace holdfast::bench
