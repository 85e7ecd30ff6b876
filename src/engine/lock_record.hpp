// All kinds of lock as one record, and what each request makes of it. A store that can load a record, apply a
// request, save the record and send messages has every kind. Nothing here does I/O or reads a clock.
#pragma once

#include "store/counters.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
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

// What a store keeps under one name. A new record is a free lock. Equal records need no write.
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
        std::uint64_t ticket = 0;
        store_time since;
        store_time forgotten_at;  // unless it asks again

        friend bool operator==(const waiter&, const waiter&) = default;
    };
    struct counter {
        backend::kind of{};  // a semaphore or a latch
        std::int64_t value = 0;

        friend bool operator==(const counter&, const counter&) = default;
    };
    // An adjustment that was made, for a client that missed the answer and asks again.
    struct operation {
        owner_id id;
        std::int64_t result = 0;
        store_time forgotten_at;

        friend bool operator==(const operation&, const operation&) = default;
    };

    std::vector<holder> holders;  // more than one only of a shared mutex or a semaphore
    std::deque<waiter> line;      // of the kinds that keep one
    std::uint64_t last_fence = 0;
    std::optional<counter> count;
    std::vector<operation> operations;

    // Nothing would be missed but the last fence.
    [[nodiscard]] bool idle() const noexcept {
        return holders.empty() && line.empty() && !count && operations.empty();
    }

    friend bool operator==(const lock_record&, const lock_record&) = default;
};

// What a request finds in its store.
struct circumstances {
    store_time now;
    std::uint64_t ticket = 0;        // for a waiter that joins the line; never used before under this name
    fence next_fence = fence::none;  // for a grant that gives one; greater than all before under this name
    // Whether messages reach a waiter: the lock is handed to no other. Empty: they reach all.
    std::function<bool(backend::kind, const owner_id&)> reaches{};
    // How long a repeated adjustment is recognized: longer than the last possible resend. Zero where answers
    // cannot be lost.
    std::chrono::milliseconds remembers{0};
};

// Whom the store tells once the record is saved. Nobody may be told of a record that was not.
struct messages {
    struct handed_over {
        backend::kind of{};
        owner_id owner;
        std::string ticket;  // see backend::wake
    };
    std::vector<handed_over> handed;
    bool all = false;  // everyone who waits for the lock, except `but`: it may be free
    owner_id but;
};

template <class Answer>
struct applied {
    Answer answer;
    messages tell;
};

// Counts of semaphores and latches stay within this, as on Redis, whose scripts count no further exactly.
inline constexpr std::int64_t largest_count = std::int64_t{1} << 53;
// A lock that is handed to a waiter is its for so long, within which the waiter takes it over.
inline constexpr std::chrono::milliseconds handed_lease{3'000};
// A waiter that does not ask for so long has left the line.
inline constexpr std::chrono::milliseconds line_patience{120'000};

// Each is one transaction. `released::listeners` is the store's to fill in. A record is no member of a
// redlock: adjustment::raise_fence finds nothing to raise.
[[nodiscard]] applied<backend::attempt_answer> apply(lock_record&, const backend::attempt_request&,
                                                     const circumstances&);
[[nodiscard]] applied<backend::renew_answer> apply(lock_record&, const backend::renew_request&,
                                                   const circumstances&);
[[nodiscard]] applied<backend::release_answer> apply(lock_record&, const backend::release_request&,
                                                     const circumstances&);
[[nodiscard]] applied<backend::adjust_answer> apply(lock_record&, const backend::adjust_request&,
                                                    const circumstances&);

// The record as bytes, of any machine and any later version of this library. Bytes that to_bytes did not
// write are no record.
[[nodiscard]] std::string to_bytes(const lock_record&);
[[nodiscard]] std::optional<lock_record> from_bytes(std::string_view);

}  // namespace holdfast::engine
