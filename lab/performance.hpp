// A process of a schedule, seen from within.
#pragma once

namespace holdfast::lab {

// Plays the part that standard input tells, and reports on standard output (protocol.hpp). Ends when standard
// input does. Gives the exit code.
int perform();

}  // namespace holdfast::lab
