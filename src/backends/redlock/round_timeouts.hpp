// The time-outs of open rounds, which also report changes of the members to them.
#pragma once

#include "base/annotations.hpp"
#include "io/reactor.hpp"
#include "store/requests.hpp"

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace holdfast::redlock_backend {

using backend::time_point;

class timed_round {
  public:
    timed_round() = default;
    timed_round(const timed_round&) = delete;
    timed_round& operator=(const timed_round&) = delete;
    virtual ~timed_round() = default;

    // Both run on the reactor thread.
    virtual void on_timeout() = 0;
    virtual void on_members_changed() = 0;
};

// Thread-safe. All rounds share one timer, so that a new round seldom has to wake the reactor.
class round_timeouts : public std::enable_shared_from_this<round_timeouts> {
  public:
    explicit round_timeouts(io::reactor& reactor) : reactor_(reactor) {}

    void add(const std::shared_ptr<timed_round>& r, time_point until) {
        base::guard lock(mutex_);
        if (closed_) return;
        open_.emplace(std::pair{until, r.get()}, r);
        arm();
    }
    void remove(timed_round& r, time_point until) {
        base::guard lock(mutex_);
        open_.erase({until, &r});
    }
    // Reactor thread: notifies all open rounds that the members have changed.
    void notify_all() {
        for (const auto& r : rounds_until(time_point::max())) r->on_members_changed();
    }
    // After this no time-out is reported. Returns the rounds that are open.
    std::vector<std::shared_ptr<timed_round>> close() {
        auto still_open = rounds_until(time_point::max());
        base::guard lock(mutex_);
        closed_ = true;
        open_.clear();
        return still_open;
    }

  private:
    std::vector<std::shared_ptr<timed_round>> rounds_until(time_point end) {
        base::guard lock(mutex_);
        std::vector<std::shared_ptr<timed_round>> found;
        for (const auto& [key, r] : open_) {
            if (key.first > end) break;
            found.push_back(r);
        }
        return found;
    }
    void arm() REQUIRES(mutex_) {
        if (open_.empty()) return;
        const auto first = open_.begin()->first.first;
        if (first >= armed_for_) return;
        armed_for_ = first;
        reactor_.at(first, [weak = weak_from_this()] {
            if (const auto self = weak.lock()) self->tick();
        });
    }
    void tick() {
        for (const auto& r : rounds_until(boot_clock::now())) r->on_timeout();
        base::guard lock(mutex_);
        armed_for_ = time_point::max();
        if (!closed_) arm();
    }

    io::reactor& reactor_;
    base::mutex mutex_;
    std::map<std::pair<time_point, timed_round*>, std::shared_ptr<timed_round>> open_ GUARDED_BY(mutex_);
    time_point armed_for_ GUARDED_BY(mutex_) = time_point::max();
    bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::redlock_backend
