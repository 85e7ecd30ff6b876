// The watch of a waiter on a Redisson channel: any message there means that a new attempt may succeed.
#pragma once

#include "backends/redis/wire/reply_mapping.hpp"
#include "backends/redis/wire/store_context.hpp"

#include <utility>

namespace holdfast::redis_backend {

class redisson_watch final : public backend::watch_handle {
  public:
    redisson_watch(store_context& context, std::string channel, handler<backend::watch_event> tell)
        : subscription_(context.db.subscribe(
              std::move(channel),
              [tell = std::move(tell), &context](const redis::sub_event& e) {
                  using what = redis::sub_event::what;
                  using report = backend::watch_event::change;
                  switch (e.kind) {
                      case what::subscribed: return tell({report::watching, {}});
                      case what::broken: return tell({report::broken, {}});
                      case what::refused:
                          context.tell(
                              {backend::notice::change::no_channel_right, refusal(e.text).in_one(), {}});
                          return tell({report::refused, {}});
                      case what::message: return tell({report::woken, {}});
                  }
              },
              context.db.channels())) {}

  private:
    std::unique_ptr<redis::subscription> subscription_;
};

}  // namespace holdfast::redis_backend
