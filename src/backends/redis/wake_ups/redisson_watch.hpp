// The watch of a waiter on a Redisson channel: any message there means that a new attempt may succeed.
#pragma once

#include "backends/redis/wire/reply_mapping.hpp"
#include "backends/redis/wire/store_context.hpp"

#include <utility>

namespace holdfast::redis_backend {

class redisson_watch final : public backend::watch_handle {
  public:
    redisson_watch(store_context& context, std::string channel, handler<backend::watch_event> on_event)
        : subscription_(context.db.subscribe(
              std::move(channel),
              [on_event = std::move(on_event), &context](const redis::sub_event& e) {
                  using what = redis::sub_event::what;
                  using report = backend::watch_event::change;
                  switch (e.kind) {
                      case what::subscribed: return on_event({report::watching, {}});
                      case what::broken: return on_event({report::broken, {}});
                      case what::refused:
                          context.notify(
                              {backend::notice::change::no_channel_right, refusal(e.text).in_one(), {}});
                          return on_event({report::refused, {}});
                      case what::message: return on_event({report::woken, {}});
                  }
              },
              context.db.channels())) {}

  private:
    std::unique_ptr<redis::subscription> subscription_;
};

}  // namespace holdfast::redis_backend
