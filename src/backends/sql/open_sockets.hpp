// The descriptors of open sessions, for a forked child.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>

namespace holdfast::sql_backend {

// A child can trust no list that another thread may just change, and frees no memory. A session has two
// descriptors of one socket (see connection); drivers close their own when the session breaks. Thread-safe.
class open_sockets {
  public:
    void add(int ours, int of_driver) noexcept {
        for (auto& slot : all_) {
            int none = -1;
            if (!slot.ours.compare_exchange_strong(none, ours)) continue;
            slot.of_driver.store(of_driver);
            return;
        }
    }
    void remove(int ours) noexcept {
        for (auto& slot : all_) {
            if (slot.ours.load() != ours) continue;
            slot.of_driver.store(-1);
            slot.ours.store(-1);
            return;
        }
    }
    void close_all() noexcept {
        for (auto& slot : all_) {
            const int ours = slot.ours;
            if (ours < 0) continue;
            // The number may mean another file by now.
            const int other = slot.of_driver;
            if (other >= 0 && are_same(ours, other)) ::close(other);
            ::close(ours);
        }
    }

  private:
    struct pair {
        std::atomic<int> ours{-1};
        std::atomic<int> of_driver{-1};
    };

    static bool are_same(int one, int other) noexcept {
        struct stat a {};
        struct stat b {};
        return ::fstat(one, &a) == 0 && ::fstat(other, &b) == 0 && a.st_dev == b.st_dev &&
               a.st_ino == b.st_ino;
    }

    static constexpr std::size_t most = 8;
    std::array<pair, most> all_{};
};

}  // namespace holdfast::sql_backend
