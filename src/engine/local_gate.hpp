// The order in which the threads of one process ask the store for one lock. Mostly they queue and only the
// head asks, so a hot lock costs the store one contender per process. First come, first served. Not
// thread-safe; its owner guards it by a lock. `Waiter` is a handle that the owner wakes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>

namespace holdfast::engine {

enum class line {
    one_holds,  // the head keeps its place until it has released the lock: the next would ask in vain
    one_asks,   // the head leaves once it holds the lock, since several may hold it; a caller that does not
                // wait asks outside the queue
    all_ask,    // there is no queue; the gate only tracks who is there
};

template <class Waiter>
class local_gate {
  public:
    explicit local_gate(line how = line::one_holds) : how_(how) {}

    // True: the caller may ask the store. False: it is in the queue, and may ask when `leave` returns it.
    bool enter(Waiter w) {
        if (how_ == line::all_ask) return enter_beside(w);
        line_.push_back(w);
        return line_.size() == 1;
    }
    // Enters without queueing. False: it did not enter.
    bool try_enter(Waiter w) {
        if (how_ != line::one_holds) return enter_beside(w);
        return line_.empty() && enter(w);
    }

    // Removes a waiter that has asked or gives up. Returns the new head if that changed.
    Waiter leave(Waiter w) {
        if (std::erase(beside_, w) > 0) return Waiter{};
        const auto it = std::find(line_.begin(), line_.end(), w);
        if (it == line_.end()) return Waiter{};
        const bool was_head = it == line_.begin();
        line_.erase(it);
        return was_head && !line_.empty() ? line_.front() : Waiter{};
    }

    template <class F>
    void each(F f) const {
        std::for_each(line_.begin(), line_.end(), f);
        std::for_each(beside_.begin(), beside_.end(), f);
    }
    // The holder after the present one; an empty Waiter if there is none.
    [[nodiscard]] Waiter next() const {
        return how_ == line::one_holds && line_.size() > 1 ? line_[1] : Waiter{};
    }
    [[nodiscard]] bool may_ask(Waiter w) const {
        return (!line_.empty() && line_.front() == w) ||
               std::find(beside_.begin(), beside_.end(), w) != beside_.end();
    }
    [[nodiscard]] std::size_t size() const { return line_.size() + beside_.size(); }

  private:
    bool enter_beside(Waiter w) {
        beside_.push_back(w);
        return true;
    }

    const line how_;
    std::deque<Waiter> line_;
    std::deque<Waiter> beside_;
};

}  // namespace holdfast::engine
