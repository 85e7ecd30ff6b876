// One function for each rule. All take the attempts on one lock, or the uses of one latch, in the order in
// which they asked, and are O(n log n).
#pragma once

#include "chaos/checker/attempt.hpp"
#include "chaos/checker/latch_use.hpp"
#include "chaos/checker/violation.hpp"

#include <span>
#include <vector>

namespace holdfast::chaos {

using violations = std::vector<violation>;

// --- who holds ----------------------------------------------------------------------------------------
// Exact: nothing is found if and only if the holds can be put in an order that explains the history.

// No two firm parts overlap.
[[nodiscard]] violations check_exclusive(std::span<const attempt> attempts);
// The holds of one owner count as one, which lasts until the last of them is given back: `folded` are those,
// to be judged as exclusive. Found here: a depth, a fence or a token that is not that of the owner.
[[nodiscard]] violations check_nesting(std::span<const attempt> attempts, std::vector<attempt>& folded);
// A writer overlaps nobody, a reader no writer.
[[nodiscard]] violations check_shared(std::span<const attempt> attempts);
// At no moment more permits are out than there are.
[[nodiscard]] violations check_counted(std::span<const attempt> attempts, std::uint32_t permits);
// A grant that came before another was asked for has the smaller fence, and no two have the same. `before`:
// the greatest fence of earlier histories.
[[nodiscard]] violations check_fences(std::span<const attempt> attempts, std::uint64_t before = 0);

// --- what is said ---------------------------------------------------------------------------------------
// A lease that ended before the time that it was promised.
[[nodiscard]] violations check_losses(std::span<const attempt> attempts);
// A lease that ended, and lost() did not tell its holder in time.
[[nodiscard]] violations check_told(std::span<const attempt> attempts);

// The key of a lock was deleted behind its back: who had it is promised nothing from then on, which is taken
// out of `attempts`. Found here: its lease was renewed all the same. A renewal makes no key anew, and takes
// none from another.
// A holder that has said that it gave up believes no more when the operator is told so; one that was removed
// not for longer than was said. Nothing more is promised to those who were evicted.
[[nodiscard]] violations check_evictions(std::vector<attempt>& attempts, std::span<const event> events,
                                         std::span<const fault> evictions);
[[nodiscard]] violations check_strikes(std::vector<attempt>& attempts, std::span<const event> events,
                                       std::span<const span_of_time> strikes);

// When somebody had the lock, or may have had it.
struct presence {
    // So long after the last sign of an attempt without a clean end the store may still grant it, or keep it.
    time_ns linger = in_ns(std::chrono::seconds{8});
    // After a wait that ended with "no" somebody must still be told so.
    time_ns undone_after = in_ns(std::chrono::seconds{1});
};
// A "no" although nobody had the lock or asked for it meanwhile. Necessary, not sufficient: what another's
// attempt did in the store at which moment cannot be known. A try beside another thread of the same client is
// answered without the store, so that one having asked is reason enough.
[[nodiscard]] violations check_refusals(std::span<const attempt> attempts, const lock_row& lock,
                                        const std::vector<fault>& faults, const presence& how = {});

// --- how long it takes ------------------------------------------------------------------------------------
// A waiter without a limit in a time of calm is served within `bound` of its beginning.
[[nodiscard]] violations check_liveness(std::span<const attempt> attempts,
                                        const std::vector<span_of_time>& calm, time_ns bound);

// --- what the resource saw ------------------------------------------------------------------------------
// An accepted write of a holder after one of another holder that asked when the first had it already.
[[nodiscard]] violations check_writes(std::span<const attempt> attempts, std::span<const event> writes);

// --- latches ---------------------------------------------------------------------------------------------
// There is an order of all that was done to a latch, from zero on, that explains what was told: who was let
// through, and each count. What has no answer was done once, at some time after it was asked, or never. With
// a forgetting the count may become any. The first answer without an explanation is found, which is as far as
// one can tell. Exact, unless so much has no answer that too much is possible: how often is added to
// `unjudged`, and then less is found. At most 64 may be under way at once.
[[nodiscard]] violations check_counts(std::span<const latch_use> uses,
                                      std::span<const span_of_time> forgetting,
                                      std::size_t* unjudged = nullptr);
// A waiter without a limit in a time of calm is let through within `bound` of when the count is surely zero.
[[nodiscard]] violations check_latch_waits(std::span<const latch_use> uses,
                                           const std::vector<span_of_time>& calm, time_ns bound);

}  // namespace holdfast::chaos
