// A device of one machine, such as a printer or a modem: only processes of this machine can reach it, so the
// lock of the machine is the right one, and no server is needed. A killed process frees it at once.
#pragma once

#include <holdfast/holdfast.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <cerrno>
#include <string>
#include <system_error>

namespace recipes {

// Programs that know nothing of holdfast take the device by `flock(1)` on the same file: flock DIR/printer
// ...
inline holdfast::client device_locks(const std::string& directory) {
    return holdfast::client{"file:" + directory};
}

// The second line: the device itself lets one process in (TIOCEXCL, O_EXCL, or as here a lock on its node),
// also if somebody has deleted the lock's file.
class open_device {
  public:
    explicit open_device(const std::string& node) : fd_(::open(node.c_str(), O_RDWR | O_CLOEXEC)) {
        if (fd_ < 0 || ::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
            const int why = errno;
            if (fd_ >= 0) ::close(fd_);
            throw std::system_error(why, std::generic_category(), node);
        }
    }
    open_device(const open_device&) = delete;
    open_device& operator=(const open_device&) = delete;
    ~open_device() { ::close(fd_); }

  private:
    int fd_;
};

}  // namespace recipes
