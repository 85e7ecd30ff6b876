#include "lab/base/false_clock.hpp"

#include "lab/base/clock_shim.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>

namespace holdfast::lab {

namespace {

using offset = long long;  // as in clock_shim.cpp: microseconds

void write_file(const std::filesystem::path& to, const void* bytes, std::size_t size) {
    std::ofstream out{to, std::ios::binary};
    out.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
    if (!out.flush()) throw std::system_error(errno, std::generic_category(), to.string());
}

}  // namespace

false_clock::false_clock(const std::filesystem::path& folder, std::string_view name)
    : library_(::memfd_create("clock", MFD_CLOEXEC)), offset_(folder / (std::string{name} + ".clock")) {
    if (library_ < 0 || ::write(library_, &clock_shim[0], sizeof clock_shim) != sizeof clock_shim)
        throw std::system_error(errno, std::generic_category(), "a clock library in memory");
    const offset right = 0;
    write_file(offset_, &right, sizeof right);
    auto* const file = std::fopen(offset_.c_str(), "r+e");
    if (file == nullptr) throw std::system_error(errno, std::generic_category(), offset_.string());
    shared_ = ::mmap(nullptr, sizeof(offset), PROT_READ | PROT_WRITE, MAP_SHARED, ::fileno(file), 0);
    std::fclose(file);
    if (shared_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), offset_.string());
}

false_clock::~false_clock() {
    ::munmap(shared_, sizeof(offset));
    ::close(library_);
}

std::vector<std::string> false_clock::environment() const {
    return {fmt::format("LD_PRELOAD=/proc/{}/fd/{}", ::getpid(), library_),
            "HOLDFAST_CLOCK_AHEAD=" + offset_.string()};
}

void false_clock::step(std::chrono::microseconds by) {
    auto* const ahead = static_cast<volatile offset*>(shared_);
    *ahead = *ahead + by.count();
}

}  // namespace holdfast::lab
