#include "chaos/runner/resource.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

namespace holdfast::chaos {

namespace {

constexpr std::size_t resource_bytes = resource::most_locks * sizeof(std::uint64_t);

}  // namespace

resource::resource(const std::filesystem::path& file) {
    const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const bool sized = fd >= 0 && ::ftruncate(fd, resource_bytes) == 0;
    mapped_ = sized ? ::mmap(nullptr, resource_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    const int why = errno;
    if (fd >= 0) ::close(fd);
    if (mapped_ == MAP_FAILED) throw std::system_error{why, std::generic_category(), file.string()};
}

resource::~resource() { ::munmap(mapped_, resource_bytes); }

bool resource::write(std::size_t lock, std::uint64_t fence) noexcept {
    std::atomic_ref newest{static_cast<std::uint64_t*>(mapped_)[lock]};
    auto seen = newest.load();
    do {
        if (seen > fence) return false;
    } while (!newest.compare_exchange_weak(seen, fence));
    return true;
}

}  // namespace holdfast::chaos
