#include "backends/common/host.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace holdfast::backends {

namespace {

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

}  // namespace

std::string boot_id() {
    auto id = first_line("/proc/sys/kernel/random/boot_id");
    if (id.empty())
        throw std::system_error(ENOENT, std::generic_category(), "/proc/sys/kernel/random/boot_id");
    return id;
}

std::string process_namespace() {
    std::array<char, 64> text{};
    const auto n = ::readlink("/proc/self/ns/pid", text.data(), text.size());
    return n > 0 ? std::string{text.data(), static_cast<std::size_t>(n)} : std::string{};
}

bool in_time_namespace() {
    std::ifstream offsets("/proc/self/timens_offsets");
    std::string clock;
    long long seconds = 0;
    long long nanoseconds = 0;
    while (offsets >> clock >> seconds >> nanoseconds)
        if (clock == "boottime" && (seconds != 0 || nanoseconds != 0)) return true;
    return false;
}

std::string program_of(long pid) { return first_line("/proc/" + std::to_string(pid) + "/comm"); }

}  // namespace holdfast::backends
