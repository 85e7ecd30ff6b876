// One function for each rule. All take the attempts on one lock, or the uses of one latch, in the order of
// their requests, and are O(n log n).
#pragma once

#include "chaos/checker/attempt.hpp"
#include "chaos/checker/latch_use.hpp"
#include "chaos/checker/violation.hpp"

#include <span>
#include <vector>

namespace holdfast::chaos {

using violations = std::vector<violation>;

// --- holders ------------------------------------------------------------------------------------------
// Exact: nothing is found if and only if the holds can be put in an order that explains the history.

// No two firm parts overlap.
[[nodiscard]] violations check_exclusive(std::span<const attempt> attempts);
// The holds of one owner count as one, which lasts until the last of them is released: `folded` receives
// these, to be judged as exclusive. Finds a depth, a fence or an owner token that is not that of the owner.
[[nodiscard]] violations check_nesting(std::span<const attempt> attempts, std::vector<attempt>& folded);
// A writer overlaps no other holder, a reader no writer.
[[nodiscard]] violations check_shared(std::span<const attempt> attempts);
// At no moment are more permits held than there are.
[[nodiscard]] violations check_counted(std::span<const attempt> attempts, std::uint32_t permits);
// A grant that came before the request of another has the smaller fence, and no two fences are the same.
// `before`: the greatest fence of earlier histories.
[[nodiscard]] violations check_fences(std::span<const attempt> attempts, std::uint64_t before = 0);

// --- what clients are promised --------------------------------------------------------------------------
// Finds a lease that ended before its promised time.
[[nodiscard]] violations check_losses(std::span<const attempt> attempts);
// Finds a lease that ended without a report by lost_token() in time.
[[nodiscard]] violations check_loss_reports(std::span<const attempt> attempts);

// A holder that gave its lease up believes in it no longer than until the operator receives the report; a
// removed holder, no longer than was reported. Evicted holders are promised nothing more.
[[nodiscard]] violations check_evictions(std::vector<attempt>& attempts, std::span<const event> events,
                                         std::span<const fault> evictions);
// A strike deletes the key of a lock without its holders knowing. From then on they are promised nothing,
// which is taken out of `attempts`. Finds a lease that was renewed all the same: a renewal makes no key anew,
// and takes none from another owner.
[[nodiscard]] violations check_strikes(std::vector<attempt>& attempts, std::span<const event> events,
                                       std::span<const span_of_time> strikes);

// When an attempt had the lock, or may have had it.
struct presence {
    // How long the store may still grant or keep the lock after the last sign of an attempt without a clean
    // end.
    time_ns linger = in_ns(std::chrono::seconds{8});
    // How long the store may still keep a waiter whose wait ended with "no".
    time_ns undone_after = in_ns(std::chrono::seconds{1});
};
// Finds a "no" although no other client had the lock or asked for it meanwhile. Necessary, not sufficient:
// when another attempt took effect in the store cannot be known. A try beside another thread of the same
// client is answered without the store, so the request of that thread is reason enough.
[[nodiscard]] violations check_refusals(std::span<const attempt> attempts, const lock_row& lock,
                                        const std::vector<fault>& faults, const presence& how = {});

// --- how long it takes ------------------------------------------------------------------------------------
// A waiter without a limit in a time of calm is served within `bound` of its beginning.
[[nodiscard]] violations check_liveness(std::span<const attempt> attempts,
                                        const std::vector<span_of_time>& calm, time_ns bound);

// --- what the resource saw ------------------------------------------------------------------------------
// Finds an accepted write that follows the write of another holder which asked when the first had the lock
// already.
[[nodiscard]] violations check_writes(std::span<const attempt> attempts, std::span<const event> writes);

// --- latches ---------------------------------------------------------------------------------------------
// Some order of all uses of a latch, from zero on, explains the answers: who was let through, and each count.
// A use without an answer took effect once, at some time after its request, or never. A forgetting may leave
// any count. Finds the first answer without an explanation; later ones cannot be judged. Exact, unless too
// many uses have no answer: then less is found, and `unjudged` grows by the number of answers not judged. At
// most 64 uses may be under way at once.
[[nodiscard]] violations check_counts(std::span<const latch_use> uses,
                                      std::span<const span_of_time> forgetting,
                                      std::size_t* unjudged = nullptr);
// A waiter without a limit in a time of calm is let through within `bound` of when the count is surely zero.
[[nodiscard]] violations check_latch_waits(std::span<const latch_use> uses,
                                           const std::vector<span_of_time>& calm, time_ns bound);

}  // namespace holdfast::chaos
