// Starts the library's own threads.
#pragma once

#include <holdfast/callback.hpp>

namespace holdfast::io {

// Runs `body` on a detached thread: `body` owns what it uses. The thread blocks all signals, which are for
// the program's own threads. `name` has at most 15 characters. Throws std::system_error if the system has no
// thread left; then `body` does not run.
void start_thread(const char* name, callback<void()> body);

}  // namespace holdfast::io
