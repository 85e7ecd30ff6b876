#include "observe/bus.hpp"

#include <string>
#include <utility>

namespace holdfast::observe {

class bus::listener {
  public:
    using event_ptr = std::shared_ptr<const event>;
    using function = std::function<void(const event&)>;

    listener(function on_event, io::reactor& timers, std::chrono::milliseconds slow_after,
             const std::function<void()>& on_slow)
        : calls_(timers, slow_after, on_slow, {1, most_queued}),
          on_event_(std::make_shared<const function>(std::move(on_event))) {}
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    ~listener() = default;

    // Returns false if the event was dropped. Missed events are reported before the next event that is
    // delivered.
    bool receive(const event_ptr& e) {
        base::guard lock(mutex_);
        if (!on_event_) return true;
        if (missed_ > 0 && post(report())) missed_ = 0;
        if (missed_ == 0 && post(e)) return true;
        ++missed_;
        return false;
    }
    void finish(boot_clock::time_point until) { calls_.finish(until); }
    // Destroys what the function keeps: here, or, when called inside a call, at the end of that call.
    void leave() {
        if (forked_ != base::fork_generation()) return;
        calls_.stop();
        std::shared_ptr<const function> dropped;
        base::guard lock(mutex_);
        dropped.swap(on_event_);
        lock.unlock();
    }

  private:
    // The call has its own reference to the function: it may run on after the listener has left.
    bool post(const event_ptr& e) REQUIRES(mutex_) {
        return calls_.post([on_event = on_event_, e] { (*on_event)(*e); });
    }
    [[nodiscard]] event_ptr report() const REQUIRES(mutex_) {
        auto text = "this listener was too slow: " + std::to_string(missed_) + " events were dropped";
        return std::make_shared<const event>(
            event{event_kind::events_dropped, {}, std::move(text), {}, fence::none, boot_clock::now()});
    }

    const std::uint64_t forked_ = base::fork_generation();
    io::notifier calls_;
    base::mutex mutex_;
    std::shared_ptr<const function> on_event_ GUARDED_BY(mutex_);
    std::uint64_t missed_ GUARDED_BY(mutex_) = 0;
};

bus::bus(io::reactor& timers, std::chrono::milliseconds slow_after, std::function<void()> on_slow)
    : timers_(timers), slow_after_(slow_after), on_slow_(std::move(on_slow)) {}

event_subscription bus::listen(std::function<void(const event&)> on_event, const std::vector<event>& so_far) {
    const auto mine = std::make_shared<listener>(std::move(on_event), timers_, slow_after_, on_slow_);
    {
        base::guard lock(roster_->mutex);
        if (!roster_->finished) {
            for (const auto& e : so_far) (void)mine->receive(std::make_shared<const event>(e));
            std::erase_if(roster_->listeners, [](const auto& l) { return l.expired(); });
            roster_->listeners.push_back(mine);
        }
    }
    roster_->count.fetch_add(1, std::memory_order_relaxed);
    return {static_cast<void*>(mine.get()), [mine, roster = roster_](void*) {
                roster->count.fetch_sub(1, std::memory_order_relaxed);
                mine->leave();
            }};
}

std::vector<std::shared_ptr<bus::listener>> bus::roster::present() const {
    std::vector<std::shared_ptr<listener>> now;
    if (finished) return now;
    for (const auto& weak : listeners) {
        if (auto l = weak.lock()) now.push_back(std::move(l));
    }
    return now;
}

std::size_t bus::emit(event e) {
    if (!anybody()) return 0;
    const auto shared = std::make_shared<const event>(std::move(e));
    std::vector<std::shared_ptr<listener>> now;
    {
        base::guard lock(roster_->mutex);
        now = roster_->present();
    }
    std::size_t dropped = 0;
    for (const auto& l : now) dropped += l->receive(shared) ? 0 : 1;
    return dropped;
}

void bus::finish(boot_clock::time_point until) {
    std::vector<std::shared_ptr<listener>> now;
    {
        base::guard lock(roster_->mutex);
        now = roster_->present();
        roster_->finished = true;
    }
    for (const auto& l : now) l->finish(until);
}

}  // namespace holdfast::observe
