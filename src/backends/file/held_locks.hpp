// The locks that a client holds.
#pragma once

#include "backends/file/lock_file.hpp"
#include "base/annotations.hpp"
#include "store/requests.hpp"

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::file_backend {

struct held_lock {
    held_lock(const backend::attempt_request& r, const owner_number& by, std::string where,
              holdfast::fence given, lock_file open)
        : of(r.key.of),
          owner(by),
          path(std::move(where)),
          fence(given),
          permits(r.permits),
          at(std::move(open)) {}

    const kind of;
    const owner_number owner;
    const std::string path;
    std::atomic<holdfast::fence> fence;
    const std::uint32_t permits;
    std::atomic<std::uint32_t> holds{1};  // as its mark shows it to operators
    lock_file at;  // closed by whoever lets go of it last: a renewal may use it while another thread releases
};

// Thread-safe.
class held_locks {
  public:
    using entry = std::shared_ptr<held_lock>;

    void add(entry one) {
        base::guard lock(mutex_);
        auto& place = all_[one->owner];
        place = std::move(one);
    }
    [[nodiscard]] entry find(const owner_number& owner) const {
        base::guard lock(mutex_);
        const auto it = all_.find(owner);
        return it == all_.end() ? nullptr : it->second;
    }
    // Empty: the owner does not hold a lock, or another caller has taken it.
    [[nodiscard]] entry take(const owner_number& owner) {
        base::guard lock(mutex_);
        const auto it = all_.find(owner);
        if (it == all_.end()) return nullptr;
        auto one = std::move(it->second);
        all_.erase(it);
        return one;
    }
    [[nodiscard]] std::vector<entry> take_all() {
        base::guard lock(mutex_);
        std::vector<entry> taken;
        for (auto& [owner, one] : all_) taken.push_back(std::move(one));
        all_.clear();
        return taken;
    }

  private:
    // A client never uses a serial twice.
    struct by_serial {
        std::size_t operator()(const owner_number& n) const noexcept {
            return static_cast<std::size_t>(n.serial);
        }
    };

    mutable base::mutex mutex_;
    std::unordered_map<owner_number, entry, by_serial> all_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::file_backend
