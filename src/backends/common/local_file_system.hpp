// Whether the kernel of this machine alone decides about the locks and the content of a file.
#pragma once

#include <optional>
#include <string>

namespace holdfast::backends {

// Why two machines might see the directory at the same time, each with locks of its own: the name of its file
// system, for people. Empty: it is on one of the file systems that only this machine has mounted.
// Throws std::system_error if the directory cannot be looked at.
[[nodiscard]] std::optional<std::string> shared_file_system(const std::string& directory);

}  // namespace holdfast::backends
