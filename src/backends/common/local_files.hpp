// What endangers locks in files of this machine, whatever the files are.
#pragma once

#include <holdfast/examination.hpp>

#include <string>

namespace holdfast::backends {

// `subject` is what the finding is about: a file, or a directory.
[[nodiscard]] finding about_file_system(const std::string& subject, const std::string& directory);
[[nodiscard]] finding about_rights(const std::string& path);
// `risk`: what a full disk does to locks.
[[nodiscard]] finding about_space(const std::string& subject, const std::string& directory,
                                  const std::string& risk);

}  // namespace holdfast::backends
