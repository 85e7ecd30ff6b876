// The kinds of lock.
#pragma once

namespace holdfast {

enum class kind {
    native,            // mutex
    native_fenced,     // mutex with .fenced = true: native, and a fence on every grant
    recursive,         // recursive_mutex
    recursive_fenced,  // fenced_mutex: recursive, and a fence on every grant
    fair,              // fair_mutex: recursive, and the store keeps the queue of its waiters
    shared_read,       // shared_mutex, one of many readers
    shared_write,      // shared_mutex, the writer
    semaphore,         // counting_semaphore: permits that have an owner and come back
    permit_semaphore,  // permit_semaphore: the same in Redisson's form, where each permit has an id
    latch,             // latch: it has no owner; it is granted to all when its count is zero
};

}  // namespace holdfast
