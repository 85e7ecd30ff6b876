// The sockets of sessions that are being made, for a forked child.
#pragma once

#include "base/fork.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace holdfast::sql_backend {

// The driver's socket while a thread makes a session. A child does not have that thread, and so closes the
// sockets of all of them. A driver may close one and open another between two calls of is(); the child closes
// what is still the same file. Thread-safe.
class unfinished_socket {
  public:
    unfinished_socket() noexcept {
        const auto here = base::fork_generation() + 1;
        for (auto& one : all()) {
            std::uint64_t nowhere = 0;
            if (!one.taken_in.compare_exchange_strong(nowhere, here)) continue;
            mine_ = &one;
            return;
        }
    }
    unfinished_socket(const unfinished_socket&) = delete;
    unfinished_socket& operator=(const unfinished_socket&) = delete;
    ~unfinished_socket() {
        if (mine_ == nullptr) return;
        mine_->fd.store(-1);
        mine_->taken_in.store(0);
    }

    // This is it now.
    void is(int fd) noexcept {
        struct stat seen {};
        if (mine_ == nullptr || ::fstat(fd, &seen) != 0) return;
        if (mine_->fd.load() == fd && mine_->inode.load() == seen.st_ino) return;  // at no time unknown
        mine_->fd.store(-1);
        mine_->inode.store(seen.st_ino);
        mine_->fd.store(fd);
    }

    // In a forked child: those of its parent.
    static void close_all() noexcept {
        for (auto& one : all()) {
            const auto in = one.taken_in.load();
            if (in == 0 || in == base::fork_generation() + 1) continue;
            const int fd = one.fd.exchange(-1);
            struct stat seen {};
            if (fd >= 0 && ::fstat(fd, &seen) == 0 && S_ISSOCK(seen.st_mode) && seen.st_ino == one.inode)
                ::close(fd);
            one.taken_in.store(0);
        }
    }

  private:
    struct slot {
        std::atomic<std::uint64_t> taken_in{0};  // the fork generation + 1; 0: free
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
