// A fork of the test's own process.
#pragma once

#include <functional>

namespace holdfast::test {

// Runs `in_child` in a forked copy of this process and gives its answer back, which becomes the exit code; 99
// if it throws, 128 + n if signal n ended it. Nothing of gtest may be used there. The copy has a minute and
// ends with its parent, so that one that hangs outlives no test and keeps no pipe of ctest open.
[[nodiscard]] int in_forked_child(const std::function<int()>& in_child);

}  // namespace holdfast::test
