#include "support/eventually.hpp"

#include <stdlib.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace holdfast::test {

namespace fs = std::filesystem;

namespace {

std::size_t count_entries(const char* directory) {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator{directory}) ++n;
    return n;
}

}  // namespace

temp_dir::temp_dir() {
    std::string name = (fs::temp_directory_path() / "holdfast-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
        throw std::system_error{errno, std::generic_category(), "mkdtemp " + name};
    path_ = name;
}

temp_dir::~temp_dir() {
    std::error_code ignored;  // a file left in /tmp is no reason to fail a test
    fs::remove_all(path_, ignored);
}

// The iterator's own descriptor is one of the entries.
std::size_t count_open_fds() { return count_entries("/proc/self/fd") - 1; }

std::size_t count_threads() { return count_entries("/proc/self/task"); }

}  // namespace holdfast::test
