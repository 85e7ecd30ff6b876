// Takes locks from their holders: first asks their clients to give up, then releases the locks in their name.
#pragma once

#include "backends/common/confirmed_evictions.hpp"
#include "backends/redis/wake_ups/wake_channels.hpp"
#include "backends/redis/wire/store_context.hpp"
#include "store/inspection.hpp"

#include <functional>
#include <string>
#include <vector>

namespace holdfast::redis_backend {

// See store::ask_to_give_up. Sends the message to the wake channel of the holder's client, which answers on
// ours; docs/wire/mutex.md.
void ask_to_give_up(store_context&, wake_channels&, backends::confirmed_evictions&, const lock_name&,
                    const backend::holder_info&, time_point deadline,
                    handler<backend::result<backend::asked>>);

// Releases a lock for an owner, if the owner holds it. The server compares and releases in one step.
using release_verb = std::function<void(const backend::lock_key&, const std::string& owner,
                                        time_point deadline, handler<backend::release_answer>)>;

// See store::evict.
void evict(store_context&, release_verb, const lock_name&, const std::vector<std::string>& owners,
           time_point deadline, handler<backend::result<std::vector<backend::evicted>>>);

// See store::clear_line.
void clear_line(store_context&, const lock_name&, const std::vector<std::string>& absent, time_point deadline,
                handler<backend::result<std::vector<std::string>>>);

}  // namespace holdfast::redis_backend
