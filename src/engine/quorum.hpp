// The votes of several independent servers on a lock: when a majority grants it, when a majority is
// impossible, and what must be undone. Decides without I/O.
#pragma once

#include "engine/validity.hpp"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace holdfast::engine {

// A set of members, by number. More than 15 servers would be slower and no safer.
inline constexpr std::size_t most_members = 16;
using member_set = std::bitset<most_members>;

// Two majorities always have a member in common.
[[nodiscard]] constexpr std::size_t majority_of(std::size_t members) noexcept { return members / 2 + 1; }

// Counts the answers to a yes-or-no question: a renewal, a release. A server that is listed as two members
// counts once, as yes if one of the two says yes.
class tally {
  public:
    explicit tally(std::size_t members) : members_(members) {}

    enum class answer { yes, no, silent };
    enum class verdict {
        open,     // more answers are needed
        yes,      // a majority says yes
        no,       // a majority of yes is impossible, even if every silent server meant yes
        unknown,  // neither, and no further answer can change that
    };
    // Adds the answer of one more member. `server`: a number below most_members, the same for the same
    // server.
    verdict add(std::size_t server, answer a) noexcept;
    [[nodiscard]] verdict result() const noexcept;

  private:
    const std::size_t members_;
    std::size_t answered_ = 0;
    member_set yes_;
    member_set silent_;
};

struct quorum_attempt_settings {
    std::size_t members = 0;
    lease_request asked;  // from the moment before the first request was sent
    clock_margin margin;
    bool fenced = false;
    time_point give_up_at;  // one time-out for all members together
};

enum class vote {
    granted,  // the member has our owner token
    busy,     // it has the owner token of another client
    refused,  // it certainly has not got our owner token
    silent,   // no answer, and none will come: it may have our owner token, now or later
};

// One attempt: one owner token, sent to all members at once. The next attempt has another owner token.
//
//   state         | waits for                         | then
//   voting        | votes of all members              | a majority grants: granted, or raising if fenced
//                 |                                   | a majority is impossible, or too late: failing
//   raising       | members that write highest()      | a majority has written it: granted
//                 |                                   | a majority is impossible, or too late: failing
//   failing       | votes that show who has the lock  | that is known, or time is up: over
//   granted, over | late votes                        | they are undone, unless the attempt was granted
class quorum_attempt {
  public:
    explicit quorum_attempt(const quorum_attempt_settings& how)
        : how_(how), deadline_(how.asked.deadline(how.margin)) {}

    enum class outcome {
        granted,
        busy,         // a majority answered, and other clients hold too many members
        unavailable,  // too few members answered
        too_late,     // nothing would be left of the lease
    };
    struct action {
        member_set undo;   // release our owner token there now
        member_set raise;  // write highest() there
        std::optional<outcome> end{};
    };

    // `counts::no`: the member may have forgotten earlier grants, so its grant is no vote.
    enum class counts { no, yes };
    [[nodiscard]] action on_vote(std::size_t who, vote what, counts does, fence granted_fence,
                                 time_point now);
    [[nodiscard]] action on_raised(std::size_t who, bool done, time_point now);
    [[nodiscard]] action on_elapsed(time_point now);

    [[nodiscard]] fence highest() const noexcept { return highest_; }
    // Members that may still receive a request, so that the undo must be repeated later.
    [[nodiscard]] member_set uncertain() const noexcept { return silent_ | open(); }
    // Members that granted (or wrote the fence, where needed) and whose grant is a vote.
    [[nodiscard]] member_set votes() const noexcept { return said_yes() & counted_; }
    // The same, for members whose grant is no vote.
    [[nodiscard]] member_set uncounted() const noexcept { return said_yes() & ~counted_; }
    // Some members granted, but too few: other clients compete for the lock.
    [[nodiscard]] bool split() const noexcept { return held_.any(); }

  private:
    enum class state { voting, raising, failing, granted, over };

    [[nodiscard]] member_set open() const noexcept;
    [[nodiscard]] member_set said_yes() const noexcept { return asked_to_raise_.any() ? raised_ : held_; }
    [[nodiscard]] std::size_t majority() const noexcept { return majority_of(how_.members); }
    void judge(action& a, time_point now);
    void judge_raised(action& a, time_point now);
    void fail(action& a);
    void decide_failure(action& a);
    void end(action& a, outcome o);

    const quorum_attempt_settings how_;
    const time_point deadline_;
    state state_ = state::voting;
    member_set answered_;
    member_set held_;     // members with our owner token
    member_set counted_;  // those of held_ whose grant is a vote
    member_set busy_;
    member_set silent_;
    member_set asked_to_raise_;
    member_set answered_raise_;
    member_set raised_;
    fence highest_ = fence::none;
};

}  // namespace holdfast::engine
