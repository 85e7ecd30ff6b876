// The operator of a joint store.
#pragma once

namespace holdfast::lab {

// Reads a part from standard input (protocol.hpp), and changes the mode of its joint store to the second
// level. Prints a line for each mode on the way: how many levels a lock needs in it. Returns the exit code.
int change_mode();

}  // namespace holdfast::lab
