// Telling a forked child from its parent. After fork() only the calling thread exists in the child, locks of
// other threads stay locked, and connections are shared: nothing of a client may be touched there.
#pragma once

#include <cstdint>

namespace holdfast::base {

// Changes in the child at each fork(); never in the parent. One relaxed load.
[[nodiscard]] std::uint64_t fork_generation() noexcept;

}  // namespace holdfast::base
