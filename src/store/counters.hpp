// The counter of a semaphore or a latch, and the fence of a mutex. A store without counters does not
// implement this interface.
#pragma once

#include "store/requests.hpp"

#include <cstdint>
#include <variant>

namespace holdfast::backend {

// Each value says what it answers.
enum class adjustment {
    set_if_unset,  // sets the counter to `amount` if there is none: 1; else 0
    add,           // adds `amount`, which may be negative: the new count, which may be negative, too
    drain,         // takes all permits: how many there were
    read,          // the count; 0 if there is no counter. A joint store sets the counter to `amount` then
    count_down,    // counts a latch down by `amount`: the new count
    erase,         // erases the counter: 1, or 0 if there was none
    release,       // releases the permits of `owner`: 0 or more, or -1 if they were free before
    raise_fence,   // raises the fence of a mutex of `owner` to at least `amount`: 1, or 0 if it is not held
    disown,  // the permits of `owner` will not become free by themselves: 1, or 0 if they were free before
};
struct adjust_request {
    lock_key key;
    adjustment what;
    std::int64_t amount = 0;
    owner_id operation;  // new for each operation; a repeated request with it changes nothing more
    owner_id owner;      // for release, raise_fence and disown
};
struct adjusted {
    std::int64_t value = 0;
};
using adjust_answer = std::variant<adjusted, refused, unknown>;

// Requests work as in store.hpp.
class counters {
  public:
    counters() = default;
    counters(const counters&) = delete;
    counters& operator=(const counters&) = delete;
    virtual ~counters() = default;

    virtual void adjust(const adjust_request&, time_point deadline, handler<adjust_answer>) = 0;
};

}  // namespace holdfast::backend
