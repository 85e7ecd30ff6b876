// Reports that the guard could not send to `holdfast run` yet.
#pragma once

#include "cli/run/guard_link.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace holdfast::cli {

// First in, first out, and never full: each kind of report but `stopped` is sent once in a command's life,
// and only the last of successive stops counts. Does not allocate.
class unsent_reports {
  public:
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] const guard_report& first() const noexcept { return unsent_.front(); }

    void add(const guard_report& what) noexcept {
        using kind = guard_report::kind;
        if (count_ > 0 && what.what == kind::stopped && unsent_[count_ - 1].what == kind::stopped) --count_;
        if (count_ < unsent_.size()) unsent_[count_++] = what;
    }
    void drop_first() noexcept {
        std::ranges::copy(unsent_.begin() + 1, unsent_.begin() + static_cast<std::ptrdiff_t>(count_),
                          unsent_.begin());
        --count_;
    }
    void drop_all() noexcept { count_ = 0; }

  private:
    // began_to_end, kills, cannot_end, ended, nothing_left, left_alone, and a stop before each that the
    // command can outlive.
    std::array<guard_report, 12> unsent_{};
    std::size_t count_ = 0;
};

}  // namespace holdfast::cli
