// Forks the process of the test.
#pragma once

#include <functional>

namespace holdfast::test {

// Runs `in_child` in a forked copy of this process and returns its result, which becomes the exit code; 99
// if it throws, 128 + n if signal n ended it. `in_child` must not use gtest. The copy has a minute and ends
// with its parent, so a hanging one outlives no test and keeps no pipe of ctest open.
[[nodiscard]] int in_forked_child(const std::function<int()>& in_child);

}  // namespace holdfast::test
