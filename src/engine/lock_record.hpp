// All kinds of lock as one record, and the effect of each request on it. A store that can load a record,
// apply a request, save the record and send messages supports every kind. Nothing here does I/O or reads a
// clock.
#pragma once

#include "store/counters.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::engine {

// The clock of the store that keeps the record, counted from a moment in the past. It has no now(): the store
// passes the time in.
struct store_clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    static constexpr bool is_steady = false;
};
using store_time = std::chrono::time_point<store_clock>;

// The content of a store under one name. A new record is a free lock. A record that a request did not change
// needs no write.
struct lock_record {
    struct holder {
        backend::kind of{};
        owner_id owner;
        store_time expires;
        std::uint32_t holds = 1;  // of a semaphore: how many permits

        friend bool operator==(const holder&, const holder&) = default;
    };
    struct waiter {
        backend::kind of{};
        owner_id owner;
        std::uint64_t ticket = 0;  // 0: it polls
        store_time since;
        store_time forgotten_at;  // unless it asks again

        friend bool operator==(const waiter&, const waiter&) = default;
    };
    struct counter {
        backend::kind of{};  // a semaphore or a latch
        std::int64_t value = 0;

        friend bool operator==(const counter&, const counter&) = default;
    };
    // A completed adjustment, kept for a client that missed the answer and repeats the request.
    struct operation {
        owner_id id;
        std::int64_t result = 0;
        store_time forgotten_at;

        friend bool operator==(const operation&, const operation&) = default;
    };

    std::vector<holder> holders;  // more than one only of a shared mutex or a semaphore
    std::vector<waiter> queue;    // the queue, for kinds that have one
    std::uint64_t last_fence = 0;
    std::optional<counter> count;
    std::vector<operation> operations;

    // Deleting the record would lose nothing but the last fence.
    [[nodiscard]] bool idle() const noexcept {
        return holders.empty() && queue.empty() && !count && operations.empty();
    }

    friend bool operator==(const lock_record&, const lock_record&) = default;
};

// Values that the store supplies for a request.
struct circumstances {
    store_time now;
    std::uint64_t ticket = 0;        // for a waiter that joins the queue; never used before under this name
    fence next_fence = fence::none;  // for a grant with a fence; greater than all before under this name
    // Whether messages reach a waiter; the lock is handed to no other waiter. Empty: they reach all.
    std::function<bool(backend::kind, const owner_id&)> reaches{};
    // How long a repeated adjustment is recognized: longer than the last possible resend. Zero where answers
    // cannot be lost.
    std::chrono::milliseconds remembers{0};
    // No message reaches the one that asks. It asks again by itself, within `polls_within`.
    bool polls = false;
};

// Messages for the store to send once the record is saved. It sends none for a record that it did not save.
struct messages {
    struct handed_over {
        backend::kind of{};
        owner_id owner;
        std::string ticket;  // see backend::wake
    };
    std::vector<handed_over> handed;
    bool all = false;  // notify all waiters except `but`: the lock may be free
    owner_id but;
};

template <class Answer>
struct applied {
    Answer answer;
    messages notify;
};

// The largest count of a semaphore or latch, as on Redis, whose scripts count exactly only up to this.
inline constexpr std::int64_t largest_count = std::int64_t{1} << 53;
// A waiter keeps a lock that was handed to it for this long, and takes it over meanwhile.
inline constexpr std::chrono::milliseconds handed_lease{3'000};
// A waiter that polls and does not ask for this long is gone. Less than handed_lease, so that it takes over
// what was handed to it.
inline constexpr std::chrono::milliseconds polls_within{2'000};
// A waiter that does not ask for this long loses its place in the queue.
inline constexpr std::chrono::milliseconds line_patience{120'000};

// Each call is one transaction. The store fills in `released::listeners`.
[[nodiscard]] applied<backend::attempt_answer> apply(lock_record&, const backend::attempt_request&,
                                                     const circumstances&);
[[nodiscard]] applied<backend::renew_answer> apply(lock_record&, const backend::renew_request&,
                                                   const circumstances&);
[[nodiscard]] applied<backend::release_answer> apply(lock_record&, const backend::release_request&,
                                                     const circumstances&);
[[nodiscard]] applied<backend::adjust_answer> apply(lock_record&, const backend::adjust_request&,
                                                    const circumstances&);

// The record as bytes, which any machine and any later version of this library can read. from_bytes answers
// nothing for bytes that to_bytes did not write.
[[nodiscard]] std::string to_bytes(const lock_record&);
[[nodiscard]] std::optional<lock_record> from_bytes(std::string_view);

}  // namespace holdfast::engine
