// Facts about this machine that decide whether two processes mean the same by a time or a pid.
#pragma once

#include <string>

namespace holdfast::backends {

// Another id after each start of the kernel. Throws std::system_error where /proc is not mounted.
[[nodiscard]] std::string boot_id();
// The same for all processes that see the same pids; empty: unknown.
[[nodiscard]] std::string process_namespace();
// CLOCK_BOOTTIME of this process has an offset to that of the machine (time_namespaces(7)).
[[nodiscard]] bool in_time_namespace();
// Empty: there is no such process.
[[nodiscard]] std::string program_of(long pid);

}  // namespace holdfast::backends
