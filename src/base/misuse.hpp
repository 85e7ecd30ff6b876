// Mistakes of the calling program that no return value can report, because it would not check one.
#pragma once

namespace holdfast::base {

using misuse_handler = void (*)(const char* what) noexcept;

// Ends the process with a message on stderr; does nothing in a build with NDEBUG.
void misuse(const char* what) noexcept;

// For tests: called instead, in any build. Null restores the default. Returns the previous handler.
misuse_handler on_misuse(misuse_handler handler) noexcept;

}  // namespace holdfast::base
