// What sanitizers change for tests.
#pragma once

namespace holdfast::test {

// Scales loops and limits under a sanitizer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int slower = 5;
#else
inline constexpr int slower = 1;
#endif

}  // namespace holdfast::test
