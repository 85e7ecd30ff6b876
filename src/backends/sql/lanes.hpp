// One request at a time for each name.
#pragma once

#include "base/annotations.hpp"

#include <holdfast/types.hpp>

#include <deque>
#include <functional>
#include <unordered_map>
#include <utility>

namespace holdfast::sql_backend {

// A request takes several statements, on connections that do not wait for each other. Requests of one client
// for one lock are therefore carried out one after the other: so they stay in their order, and do not make
// each other's statements fail. Thread-safe.
class lanes {
  public:
    using start = std::function<void()>;

    // Calls `begin` when all requests before it have left; at once if there are none.
    void enter(const lock_name& name, start begin) {
        {
            const base::guard lock(mutex_);
            const auto [lane, fresh] = waiting_.try_emplace(name.str());
            if (!fresh) {
                lane->second.push_back(std::move(begin));
                return;
            }
        }
        begin();
    }
    void leave(const lock_name& name) {
        start next;
        {
            const base::guard lock(mutex_);
            const auto lane = waiting_.find(name.str());
            if (lane == waiting_.end()) return;
            if (lane->second.empty()) {
                waiting_.erase(lane);
                return;
            }
            next = std::move(lane->second.front());
            lane->second.pop_front();
        }
        next();
    }

  private:
    base::mutex mutex_;
    std::unordered_map<std::string, std::deque<start>> waiting_ GUARDED_BY(mutex_);  // of those under way
};

}  // namespace holdfast::sql_backend
