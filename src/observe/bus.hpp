// Events from where they happen to whoever listens.
#pragma once

#include "base/annotations.hpp"
#include "io/notifier.hpp"

#include <holdfast/event.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace holdfast::observe {

// Thread-safe. Listeners are called on the notifier's thread.
class bus {
  public:
    explicit bus(io::notifier& on) : on_(on) {}

    // `so_far` is what the newcomer alone is told first.
    [[nodiscard]] event_subscription listen(std::function<void(const event&)> tell,
                                            std::vector<event> so_far = {});
    // Cheap when nobody listens: ask first, then make the event.
    [[nodiscard]] bool anybody() const noexcept { return roster_->count.load(std::memory_order_relaxed) > 0; }
    // False if the event was dropped because callbacks are too slow.
    bool emit(event e);

  private:
    struct listener {
        base::mutex mutex;
        std::function<void(const event&)> tell GUARDED_BY(mutex);

        void call(const event& e) noexcept;
    };

    // Shared with the calls under way, which may outlive the bus.
    struct roster {
        std::atomic<int> count{0};
        base::mutex mutex;
        std::vector<std::weak_ptr<listener>> listeners GUARDED_BY(mutex);
    };

    io::notifier& on_;
    const std::shared_ptr<roster> roster_ = std::make_shared<roster>();
};

}  // namespace holdfast::observe
