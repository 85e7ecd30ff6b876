// Passes a client's events to a thread that polls.
#pragma once

#include "cli/process/wake_fds.hpp"

#include <holdfast/client.hpp>
#include <holdfast/event.hpp>

#include <mutex>
#include <utility>
#include <vector>

namespace holdfast::cli {

class event_inbox {
  public:
    explicit event_inbox(client& of)
        : subscription_(of.on_event([this](const event& e) {
              {
                  const std::lock_guard hold{guard_};
                  events_.push_back(e);
              }
              wake_.notify();
          })) {}
    event_inbox(const event_inbox&) = delete;
    event_inbox& operator=(const event_inbox&) = delete;

    // Readable when there are events.
    [[nodiscard]] int fd() const noexcept { return wake_.fd(); }
    // All events since the last call. Does not block.
    [[nodiscard]] std::vector<event> take() {
        wake_.clear();
        const std::lock_guard hold{guard_};
        return std::exchange(events_, {});
    }

  private:
    wake_event wake_;
    std::mutex guard_;
    std::vector<event> events_;        // under guard_
    event_subscription subscription_;  // last: it uses all of the above
};

}  // namespace holdfast::cli
