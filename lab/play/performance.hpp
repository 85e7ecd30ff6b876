// What a process of a schedule runs.
#pragma once

namespace holdfast::lab {

// Plays the part that it reads from standard input, and reports on standard output (protocol.hpp). Ends when
// standard input ends. Returns the exit code.
int perform();

}  // namespace holdfast::lab
