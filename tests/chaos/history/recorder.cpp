#include "chaos/history/recorder.hpp"

#include "chaos/history/layout.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

namespace holdfast::chaos {

recorder::recorder(const std::filesystem::path& file, std::size_t room)
    : bytes_(sizeof(recorder_head) + room * sizeof(event)), room_(room) {
    const auto fail = [&](const char* what) {
        throw std::system_error{errno, std::generic_category(), std::string{what} + " " + file.string()};
    };
    const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) fail("open");
    // Sparse: it takes up no more than is written.
    const bool sized = ::ftruncate(fd, static_cast<off_t>(bytes_)) == 0;
    mapped_ = sized ? ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    const int why = errno;
    ::close(fd);
    errno = why;
    if (mapped_ == MAP_FAILED) fail("map");
    new (mapped_) recorder_head;
}

recorder::~recorder() { ::munmap(mapped_, bytes_); }

void recorder::write(const event& e) noexcept {
    auto* const head = static_cast<recorder_head*>(mapped_);
    const auto n = head->begun.fetch_add(1, std::memory_order_relaxed);
    if (n >= room_) return;
    auto* const place = reinterpret_cast<event*>(static_cast<char*>(mapped_) + sizeof(recorder_head)) + n;
    event unfinished = e;
    unfinished.phase = phase::none;
    std::memcpy(place, &unfinished, sizeof unfinished);
    std::atomic_ref{place->phase}.store(e.phase, std::memory_order_release);
}

time_ns boot_time() noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return static_cast<time_ns>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace holdfast::chaos
