// What came of sending KILL to all descendants of a process, time after time: decisions only.
#pragma once

#include "cli/descendants.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace holdfast::cli {

// One sweep can miss a live process: its parent may have ended between a look at the one and at the other.
class sweeps {
  public:
    void add(const descendants::reached& met) noexcept {
        silent_ = met.signalled == 0 && met.complete ? silent_ + 1 : 0;
        const bool same = met.signalled + met.refused > 0 && met.who == last_.who;
        in_vain_ = same ? in_vain_ + 1 : 0;
        last_ = met;
    }
    // Nobody is left but those that may not be killed.
    [[nodiscard]] bool nothing_left() const noexcept { return silent_ >= enough_silence; }
    [[nodiscard]] int refused() const noexcept { return last_.refused; }
    [[nodiscard]] int signalled() const noexcept { return last_.signalled; }
    // For about a second nothing but the same processes was met: they cannot be killed, or not yet.
    [[nodiscard]] bool get_nowhere() const noexcept { return in_vain_ >= many; }
    // Until the next one: what was started while /proc was read may have been missed. Longer, the longer the
    // same processes are met.
    [[nodiscard]] std::chrono::milliseconds pause() const noexcept {
        constexpr std::chrono::milliseconds shortest{10};
        constexpr std::chrono::milliseconds longest_pause{1000};
        constexpr int doublings = 7;
        return std::min(shortest * (1 << std::clamp(in_vain_ - many, 0, doublings)), longest_pause);
    }

  private:
    static constexpr int enough_silence = 2;
    static constexpr int many = 100;

    int silent_ = 0;   // sweeps in succession that saw all and signalled nobody
    int in_vain_ = 0;  // sweeps in succession that met the same as the one before
    descendants::reached last_;
};

}  // namespace holdfast::cli
