// Detects a forked child. After fork() only the calling thread exists in the child, locks of other threads
// stay locked, and connections are shared: the child must not touch any part of a client.
#pragma once

#include <cstdint>

namespace holdfast::base {

// Changes in the child at each fork(); never in the parent. One relaxed load.
[[nodiscard]] std::uint64_t fork_generation() noexcept;

}  // namespace holdfast::base
