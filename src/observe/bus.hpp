// Delivers events to listeners.
#pragma once

#include "base/annotations.hpp"
#include "io/notifier.hpp"

#include <holdfast/event.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace holdfast::observe {

// Thread-safe. Each listener has a queue and a thread of its own, so a slow one delays no other.
class bus {
  public:
    static constexpr std::size_t most_queued = 65'536;

    // Parameters as io::notifier's.
    bus(io::reactor& timers, std::chrono::milliseconds slow_after, std::function<void()> on_slow);

    // Only the new listener receives `so_far`, first. Throws std::system_error if there is no thread for it.
    [[nodiscard]] event_subscription listen(std::function<void(const event&)> on_event,
                                            const std::vector<event>& so_far = {});
    // Cheap when there is no listener: call this first, then make the event.
    [[nodiscard]] bool anybody() const noexcept { return roster_->count.load(std::memory_order_relaxed) > 0; }
    // Returns how many listeners dropped it because they are too slow.
    std::size_t emit(event e);
    // As io::notifier::finish, for all listeners. Later listeners receive nothing.
    void finish(boot_clock::time_point until);

  private:
    class listener;

    // Shared with the subscriptions, which may outlive the bus.
    struct roster {
        std::atomic<int> count{0};
        base::mutex mutex;
        std::vector<std::weak_ptr<listener>> listeners GUARDED_BY(mutex);
        bool finished GUARDED_BY(mutex) = false;

        [[nodiscard]] std::vector<std::shared_ptr<listener>> present() const REQUIRES(mutex);
    };

    io::reactor& timers_;
    const std::chrono::milliseconds slow_after_;
    const std::function<void()> on_slow_;
    const std::shared_ptr<roster> roster_ = std::make_shared<roster>();
};

}  // namespace holdfast::observe
