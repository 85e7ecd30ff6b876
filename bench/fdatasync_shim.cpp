// Not part of the bench: a separate library, loaded before the C library (LD_PRELOAD) into a server whose
// disk should be slow. fdatasync() takes longer, by the microseconds in HOLDFAST_FDATASYNC_US.
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>

namespace {

timespec longer{};

__attribute__((constructor)) void read_environment() {
    const char* const us = std::getenv("HOLDFAST_FDATASYNC_US");
    if (us == nullptr) return;
    const long n = std::strtol(us, nullptr, 10);
    longer = {n / 1'000'000, n % 1'000'000 * 1'000};
}

}  // namespace

extern "C" int fdatasync(int fd) {
    timespec left = longer;
    // A server wakes its processes by signals.
    while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
    return static_cast<int>(::syscall(SYS_fdatasync, fd));
}
