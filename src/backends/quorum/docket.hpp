// What is being decided now, and until when: gives each its time-out.
#pragma once

#include "base/annotations.hpp"
#include "io/reactor.hpp"

#include <holdfast/backend.hpp>

#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace holdfast::quorum_backend {

using backend::time_point;

class matter {
  public:
    matter() = default;
    matter(const matter&) = delete;
    matter& operator=(const matter&) = delete;
    virtual ~matter() = default;

    // On the reactor thread.
    virtual void on_elapsed() = 0;
    virtual void on_change() = 0;
};

// Thread-safe. One timer for all: who enters seldom has to wake the reactor for it.
class docket : public std::enable_shared_from_this<docket> {
  public:
    explicit docket(io::reactor& r) : reactor_(r) {}

    void enter(const std::shared_ptr<matter>& m, time_point until) {
        base::guard lock(mutex_);
        if (closed_) return;
        matters_.emplace(std::pair{until, m.get()}, m);
        arm();
    }
    void leave(matter& m, time_point until) {
        base::guard lock(mutex_);
        matters_.erase({until, &m});
    }
    // Reactor thread.
    void change() {
        for (const auto& m : those_until(time_point::max())) m->on_change();
    }
    // No time-out comes after it. Returns what is open.
    std::vector<std::shared_ptr<matter>> close() {
        auto open = those_until(time_point::max());
        base::guard lock(mutex_);
        closed_ = true;
        matters_.clear();
        return open;
    }

  private:
    std::vector<std::shared_ptr<matter>> those_until(time_point end) {
        base::guard lock(mutex_);
        std::vector<std::shared_ptr<matter>> found;
        for (const auto& [key, m] : matters_) {
            if (key.first > end) break;
            found.push_back(m);
        }
        return found;
    }
    void arm() REQUIRES(mutex_) {
        if (matters_.empty()) return;
        const auto first = matters_.begin()->first.first;
        if (first >= armed_for_) return;
        armed_for_ = first;
        reactor_.at(first, [weak = weak_from_this()] {
            if (const auto self = weak.lock()) self->tick();
        });
    }
    void tick() {
        for (const auto& m : those_until(boot_clock::now())) m->on_elapsed();
        base::guard lock(mutex_);
        armed_for_ = time_point::max();
        if (!closed_) arm();
    }

    io::reactor& reactor_;
    base::mutex mutex_;
    std::map<std::pair<time_point, matter*>, std::shared_ptr<matter>> matters_ GUARDED_BY(mutex_);
    time_point armed_for_ GUARDED_BY(mutex_) = time_point::max();
    bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace holdfast::quorum_backend
