// How a recorder's file begins.
#pragma once

#include "chaos/history/event.hpp"

#include <atomic>
#include <cstdint>

namespace holdfast::chaos {

struct recorder_head {
    static constexpr std::uint64_t right_magic = 0x68662d6576743033;  // another number with another event

    std::uint64_t magic = right_magic;
    std::uint64_t size_of_event = sizeof(event);
    std::atomic<std::uint64_t> begun{0};  // events, those for which there was no room too
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace holdfast::chaos
