// The sockets of sessions that are being made, for a forked child.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace holdfast::sql_backend {

// The driver's socket while a thread makes a session. A child does not have that thread, and so closes the
// sockets of all of them. A driver may close one and open another between two calls of is(); the child closes
// what is still the same file. Thread-safe.
class unfinished_socket {
  public:
    unfinished_socket() noexcept {
        for (auto& one : all()) {
            bool none = false;
            if (!one.taken.compare_exchange_strong(none, true)) continue;
            mine_ = &one;
            return;
        }
    }
    unfinished_socket(const unfinished_socket&) = delete;
    unfinished_socket& operator=(const unfinished_socket&) = delete;
    ~unfinished_socket() {
        if (mine_ == nullptr) return;
        mine_->fd.store(-1);
        mine_->taken.store(false);
    }

    // This is it now.
    void is(int fd) noexcept {
        struct stat seen {};
        if (mine_ == nullptr || ::fstat(fd, &seen) != 0) return;
        mine_->fd.store(-1);
        mine_->inode.store(seen.st_ino);
        mine_->fd.store(fd);
    }

    // In a forked child.
    static void close_all() noexcept {
        for (auto& one : all()) {
            const int fd = one.fd.exchange(-1);
            struct stat seen {};
            if (fd >= 0 && ::fstat(fd, &seen) == 0 && S_ISSOCK(seen.st_mode) && seen.st_ino == one.inode)
                ::close(fd);
        }
    }

  private:
    struct slot {
        std::atomic<bool> taken{false};
        std::atomic<int> fd{-1};
        std::atomic<ino_t> inode{0};
    };
    static constexpr std::size_t most = 64;  // more than that are not closed

    static std::array<slot, most>& all() noexcept {
        static std::array<slot, most> slots;
        return slots;
    }

    slot* mine_ = nullptr;
};

}  // namespace holdfast::sql_backend
