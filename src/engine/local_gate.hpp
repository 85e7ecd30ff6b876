// The line in which the threads of one process wait for one lock: only its head asks the store, so a
// hot lock costs the store one contender per process. First come, first served.
// An open gate lets all through at once, and only knows who is there: for locks that many may hold, or whose
// line the store keeps.
// Not thread-safe; its owner keeps it under a lock. `Waiter` is whatever the owner wakes.
#pragma once

#include <algorithm>
#include <deque>

namespace holdfast::engine {

template <class Waiter>
class local_gate {
  public:
    explicit local_gate(bool open = false) : open_(open) {}

    // True: the caller is the head and may ask the store. False: it stands in line and becomes the
    // head when `leave` returns it.
    bool enter(Waiter w) {
        line_.push_back(w);
        return open_ || line_.size() == 1;
    }
    // Takes it only if nobody stands in line.
    bool try_enter(Waiter w) { return (open_ || line_.empty()) && enter(w); }

    // The head has given the lock back, or anybody gives up waiting. Returns the new head if that changed.
    Waiter leave(Waiter w) {
        const auto it = std::find(line_.begin(), line_.end(), w);
        if (it == line_.end()) return Waiter{};
        const bool was_head = it == line_.begin();
        line_.erase(it);
        return was_head && !open_ && !line_.empty() ? line_.front() : Waiter{};
    }

    template <class F>
    void each(F f) const {
        std::for_each(line_.begin(), line_.end(), f);
    }
    // Who is the head after the present one; an empty Waiter if nobody.
    [[nodiscard]] Waiter next() const { return !open_ && line_.size() > 1 ? line_[1] : Waiter{}; }
    [[nodiscard]] bool is_head(Waiter w) const { return open_ || (!line_.empty() && line_.front() == w); }
    [[nodiscard]] std::size_t size() const { return line_.size(); }

  private:
    const bool open_;
    std::deque<Waiter> line_;
};

}  // namespace holdfast::engine
