// Which descriptors of this process have a file open.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace holdfast::test {

[[nodiscard]] inline std::vector<int> descriptors_of(const std::string& path) {
    std::vector<int> found;
    for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code closed_meanwhile;
        if (std::filesystem::read_symlink(one.path(), closed_meanwhile) == path)
            found.push_back(std::stoi(one.path().filename().string()));
    }
    return found;
}

}  // namespace holdfast::test
