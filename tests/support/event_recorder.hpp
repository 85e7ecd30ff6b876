// Records the events of a client, so that a test can wait for them.
#pragma once

#include "support/eventually.hpp"

#include <holdfast/client.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace holdfast::test {

class event_recorder {
  public:
    explicit event_recorder(client& of)
        : subscription_(of.on_event([r = record_](const event& e) {
              const std::lock_guard hold{r->mutex};
              r->events.push_back({e});
              r->changed.notify_all();
          })) {}

    // True if an event of this kind is there, or comes within the limit.
    [[nodiscard]] bool has(event_kind kind, std::chrono::milliseconds limit = patience) const {
        std::unique_lock hold{record_->mutex};
        return record_->changed.wait_for(hold, limit, [&] {
            return std::any_of(record_->events.begin(), record_->events.end(),
                               [&](const entry& e) { return e.what.kind == kind; });
        });
    }
    // The first event of this kind that no earlier call has returned; empty if none comes within the limit.
    [[nodiscard]] std::optional<event> next(event_kind kind, std::chrono::milliseconds limit = patience) {
        return next_of({kind}, limit);
    }
    // The same of several kinds.
    [[nodiscard]] std::optional<event> next_of(std::initializer_list<event_kind> kinds,
                                               std::chrono::milliseconds limit = patience) {
        std::unique_lock hold{record_->mutex};
        std::optional<event> found;
        record_->changed.wait_for(hold, limit, [&] {
            const auto it = std::find_if(record_->events.begin(), record_->events.end(), [&](const entry& e) {
                return !e.returned && std::find(kinds.begin(), kinds.end(), e.what.kind) != kinds.end();
            });
            if (it == record_->events.end()) return false;
            it->returned = true;
            found = it->what;
            return true;
        });
        return found;
    }
    // The latest event of this kind; one must have come.
    [[nodiscard]] event last(event_kind kind) const {
        const std::lock_guard hold{record_->mutex};
        return std::find_if(record_->events.rbegin(), record_->events.rend(),
                            [&](const entry& e) { return e.what.kind == kind; })
            ->what;
    }
    [[nodiscard]] std::size_t count(event_kind kind) const {
        const std::lock_guard hold{record_->mutex};
        return static_cast<std::size_t>(std::count_if(record_->events.begin(), record_->events.end(),
                                                      [&](const entry& e) { return e.what.kind == kind; }));
    }

  private:
    struct entry {
        event what;
        bool returned = false;  // by next()
    };
    struct record {
        std::mutex mutex;
        std::condition_variable changed;
        std::vector<entry> events;
    };
    std::shared_ptr<record> record_ = std::make_shared<record>();
    event_subscription subscription_;
};

}  // namespace holdfast::test
