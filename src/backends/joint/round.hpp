// An attempt of an owner, from the request to the answer.
#pragma once

#include "backends/joint/core.hpp"

namespace holdfast::joint_backend {

struct core::round {
    round(attempt_request r, time_point until, handler<attempt_answer> d)
        : asked(std::move(r)), deadline(until), done(std::move(d)) {}

    const attempt_request asked;
    const time_point deadline;
    const handler<attempt_answer> done;
    const std::thread::id caller = std::this_thread::get_id();
    hold_ptr of;
    std::uint64_t number = 0;            // of this attempt of the owner
    std::uint64_t epoch = 0;             // of the mode whose levels it takes
    std::shared_ptr<const bound> under;  // the bound of then
    needed_levels got;                   // granted since then
    std::vector<std::uint64_t> fences;   // with which fence, in the same order
    granted result{};
    io::timer_id timer{};  // while it waits for a mode
};

}  // namespace holdfast::joint_backend
