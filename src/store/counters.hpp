// The counter of a semaphore or a latch, and the fence of a mutex. A store that has none implements nothing
// of this.
#pragma once

#include "store/requests.hpp"

#include <cstdint>
#include <variant>

namespace holdfast::backend {

// Each with the value that it answers.
enum class adjustment {
    set_if_unset,  // to `amount`, if there is no counter: 1; else 0
    add,           // `amount`, which may be negative: what is left, which may be negative, too
    drain,         // takes all that is there: how much that was
    read,          // what is there; 0 if there is no counter
    count_down,    // a latch, by `amount`: what is left
    erase,         // the counter: 1, or 0 if there was none
    give_back,     // the permits of `owner`: 0 or more, or -1 if they had come back before
    raise_fence,   // of a fenced mutex that `owner` holds, to at least `amount`: 1, or 0 if it does not hold
                   // it
    disown,        // the permits of `owner` will not come back by themselves: 1, or 0 if they had come back
};
struct adjust_request {
    lock_key key;
    adjustment what;
    std::int64_t amount = 0;
    owner_id operation;  // new for each; a repeated request with it changes nothing more
    owner_id owner;      // with give_back, raise_fence and disown
};
struct adjusted {
    std::int64_t value = 0;
};
using adjust_answer = std::variant<adjusted, refused, unknown>;

// Requests as in store.hpp.
class counters {
  public:
    counters() = default;
    counters(const counters&) = delete;
    counters& operator=(const counters&) = delete;
    virtual ~counters() = default;

    virtual void adjust(const adjust_request&, time_point deadline, handler<adjust_answer>) = 0;
};

}  // namespace holdfast::backend
