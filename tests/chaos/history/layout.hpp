// The header of a recorder's file.
#pragma once

#include "chaos/history/event.hpp"

#include <atomic>
#include <cstdint>

namespace holdfast::chaos {

struct recorder_head {
    static constexpr std::uint64_t right_magic = 0x68662d6576743033;  // changes with the layout of event

    std::uint64_t magic = right_magic;
    std::uint64_t size_of_event = sizeof(event);
    std::atomic<std::uint64_t> begun{0};  // number of events, including those without room
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace holdfast::chaos
