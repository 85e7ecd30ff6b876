// The wall clock of this machine, for stores whose fences follow it.
#pragma once

#include "base/clock.hpp"
#include "store/server_clock.hpp"

#include <vector>

namespace holdfast::backends {

[[nodiscard]] inline std::vector<backend::clock_reading> read_own_clock() {
    const auto sent = boot_clock::now();
    const auto at = base::wall_microseconds();
    return {backend::read_between(sent, boot_clock::now(), at)};
}

}  // namespace holdfast::backends
