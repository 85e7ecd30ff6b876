// The order in which the threads of one process ask the store for one lock. Mostly they queue and only the
// head asks, so a hot lock costs the store one contender per process. First come, first served. Not
// thread-safe; its owner guards it by a lock. `Waiter` is a handle that the owner wakes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>

namespace holdfast::engine {

enum class queueing {
    one_holds,  // the head keeps its place until it has released the lock: the next would ask in vain
    one_asks,   // the head leaves once it holds the lock, since several may hold it; a caller that does not
                // wait asks outside the queue
    all_ask,    // there is no queue; only the callers are recorded
};

template <class Waiter>
class local_queue {
  public:
    explicit local_queue(queueing how = queueing::one_holds) : how_(how) {}

    // True: the caller may ask the store. False: it is in the queue, and may ask when `leave` returns it.
    bool enter(Waiter w) {
        if (how_ == queueing::all_ask) return enter_unqueued(w);
        queue_.push_back(w);
        return queue_.size() == 1;
    }
    // Enters without queueing. False: it did not enter.
    bool try_enter(Waiter w) {
        if (how_ != queueing::one_holds) return enter_unqueued(w);
        return queue_.empty() && enter(w);
    }

    // Removes a waiter that has asked or gives up. Returns the new head if that changed.
    Waiter leave(Waiter w) {
        if (std::erase(unqueued_, w) > 0) return Waiter{};
        const auto it = std::find(queue_.begin(), queue_.end(), w);
        if (it == queue_.end()) return Waiter{};
        const bool was_head = it == queue_.begin();
        queue_.erase(it);
        return was_head && !queue_.empty() ? queue_.front() : Waiter{};
    }

    template <class F>
    void each(F f) const {
        std::for_each(queue_.begin(), queue_.end(), f);
        std::for_each(unqueued_.begin(), unqueued_.end(), f);
    }
    // The holder after the present one; an empty Waiter if there is none.
    [[nodiscard]] Waiter next() const {
        return how_ == queueing::one_holds && queue_.size() > 1 ? queue_[1] : Waiter{};
    }
    [[nodiscard]] bool may_ask(Waiter w) const {
        return (!queue_.empty() && queue_.front() == w) ||
               std::find(unqueued_.begin(), unqueued_.end(), w) != unqueued_.end();
    }
    [[nodiscard]] std::size_t size() const { return queue_.size() + unqueued_.size(); }

  private:
    bool enter_unqueued(Waiter w) {
        unqueued_.push_back(w);
        return true;
    }

    const queueing how_;
    std::deque<Waiter> queue_;
    std::deque<Waiter> unqueued_;
};

}  // namespace holdfast::engine
