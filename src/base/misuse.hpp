// Mistakes of the program that uses us which no return value can tell it, because it is not looking for one.
#pragma once

namespace holdfast::base {

using misuse_handler = void (*)(const char* what) noexcept;

// Ends the process with a word on stderr; does nothing in a build with NDEBUG.
void misuse(const char* what) noexcept;

// For tests: called in place of that, in any build. Null: as before. Returns the former one.
misuse_handler on_misuse(misuse_handler handler) noexcept;

}  // namespace holdfast::base
