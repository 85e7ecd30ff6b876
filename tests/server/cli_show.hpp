// For tests of `holdfast demo` and `lab`: their processes and their temporary folder.
#pragma once

#include "support/child_process.hpp"
#include "support/eventually.hpp"

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace holdfast::test::cli {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// holdfast COMMAND MORE...
inline std::vector<std::string> command_line(const std::string& command,
                                             const std::vector<std::string>& more) {
    std::vector<std::string> all{HOLDFAST_COMMAND, command};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

// The command lines that mention `text`, as that of a demo's server mentions its folder. Zombies have none.
inline std::vector<std::string> processes_that_mention(const std::string& text) {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator{"/proc"}) {
        auto line = command_line_of(std::atoi(entry.path().filename().c_str()));
        if (line.find(text) == std::string::npos) continue;
        std::ranges::replace(line, '\0', ' ');
        found.push_back(std::move(line));
    }
    return found;
}

inline std::vector<pid_t> children_of(pid_t parent) {
    const auto task =
        fs::path{"/proc"} / std::to_string(parent) / "task" / std::to_string(parent) / "children";
    std::ifstream file{task};
    return {std::istream_iterator<pid_t>{file}, {}};
}

inline bool all_gone(const std::vector<pid_t>& processes) {
    return std::ranges::none_of(processes, [](pid_t pid) {
        std::ifstream file{fs::path{"/proc"} / std::to_string(pid) / "cmdline"};
        return file.peek() != std::ifstream::traits_type::eof();
    });
}

// A TMPDIR that only one test uses.
class own_temp_folder {
  public:
    [[nodiscard]] child_process::environment environment() const {
        return {{"TMPDIR", folder_.path().string()}, {"NO_COLOR", "1"}};
    }
    [[nodiscard]] std::string path() const { return folder_.path().string(); }
    [[nodiscard]] bool empty() const {
        // A process that is killed while it starts may leave a file of its thread sanitizer behind.
        return std::ranges::all_of(fs::directory_iterator{folder_.path()}, [](const fs::directory_entry& e) {
            return e.path().filename().string().starts_with("tsan.rodata.");
        });
    }

  private:
    temp_dir folder_;
};

}  // namespace holdfast::test::cli
