// Judges repeated sweeps that send KILL to all descendants of a process. Decisions only.
#pragma once

#include "cli/process/descendants.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace holdfast::cli {

// A sweep can miss a live process: its parent may end between the looks at the parent and at the process. A
// slow sweep misses each of a row of processes that start the next one and end, but it finds the dead ones.
class sweeps {
  public:
    void add(const descendants::reached& found) noexcept {
        silent_ = found.signalled + found.reaped == 0 && found.complete ? silent_ + 1 : 0;
        const bool same = found.signalled + found.refused > 0 && found.who == last_.who;
        in_vain_ = same ? in_vain_ + 1 : 0;
        last_ = found;
    }
    // No process is left but those that this user may not kill.
    [[nodiscard]] bool nothing_left() const noexcept { return silent_ >= enough_silence; }
    [[nodiscard]] int refused() const noexcept { return last_.refused; }
    [[nodiscard]] int signalled() const noexcept { return last_.signalled; }
    // For about a second the sweeps found only the same processes: they cannot be killed, or not yet.
    [[nodiscard]] bool get_nowhere() const noexcept { return in_vain_ >= many; }
    // The pause before the next sweep, which is for processes that started while /proc was read. It grows
    // while the sweeps find the same processes.
    [[nodiscard]] std::chrono::milliseconds pause() const noexcept {
        constexpr std::chrono::milliseconds shortest{10};
        constexpr std::chrono::milliseconds longest_pause{1000};
        constexpr int doublings = 7;
        return std::min(shortest * (1 << std::clamp(in_vain_ - many, 0, doublings)), longest_pause);
    }

  private:
    static constexpr int enough_silence = 2;
    static constexpr int many = 100;

    int silent_ = 0;   // successive sweeps that saw all, signalled none and found none that had ended
    int in_vain_ = 0;  // successive sweeps that found the same as the one before
    descendants::reached last_;
};

}  // namespace holdfast::cli
