// A lock on several independent servers, held by whoever has most of them: when it is granted, when it is
// not, and what must be taken back. Decided without I/O.
#pragma once

#include "engine/validity.hpp"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace holdfast::engine {

// Members by their number. More than 15 servers would be slower and no safer.
inline constexpr std::size_t most_members = 16;
using member_set = std::bitset<most_members>;

// Two majorities have a member in common; that is all a quorum is.
[[nodiscard]] constexpr std::size_t majority_of(std::size_t members) noexcept { return members / 2 + 1; }

// What most servers say to a yes-or-no question: a renewal, a release. One that is two members says yes if it
// does so as one of them, and is one server.
class tally {
  public:
    explicit tally(std::size_t members) : members_(members) {}

    enum class answer { yes, no, silent };
    enum class verdict {
        open,     // more answers are needed
        yes,      // of a majority
        no,       // a majority of yes is impossible even if all who were silent would have said it
        unknown,  // neither, and all have answered or can change nothing
    };
    // `a` is one more member's. `server`: any number below most_members, the same for the same server.
    verdict add(std::size_t server, answer a) noexcept;
    [[nodiscard]] verdict result() const noexcept;

  private:
    const std::size_t members_;
    std::size_t answered_ = 0;
    member_set yes_;
    member_set silent_;
};

struct ballot_settings {
    std::size_t members = 0;
    lease_request asked;  // sent just before the first question left
    validity trust;
    bool fenced = false;
    time_point give_up_at;  // one time-out for all members together
};

enum class vote {
    granted,  // it has our token
    busy,     // it has another's
    refused,  // neither, for certain
    silent,   // no answer, and none will come: it may have our token, now or later
};

// One attempt: one token, put to all members at once. Never repeated: the next attempt has another token.
//
//   state    | waits for                  | then
//   voting   | votes of all members       | a majority of them: granted, or raising if it is fenced;
//            |                            | it cannot come any more, or too late: failing
//   raising  | a majority that has written the highest fence down: granted; it cannot come: failing
//   failing  | nothing is held any more; answers that tell whether others hold it: over
//   granted, over | late votes, which are undone unless it was granted
class ballot {
  public:
    explicit ballot(const ballot_settings& how) : how_(how), deadline_(how.asked.deadline(how.trust)) {}

    enum class outcome {
        granted,
        busy,         // a majority could be asked, and others have too many of them
        unavailable,  // too few could be asked
        too_late,     // so late that no time of the lease would be left
    };
    struct action {
        member_set undo;   // give the token back there now
        member_set raise;  // write highest() down there, where the token is
        std::optional<outcome> end{};
    };

    // `counts`: it can be relied on to remember what it granted before; else its grant is no vote.
    enum class counts { no, yes };
    [[nodiscard]] action on_vote(std::size_t who, vote what, counts does, fence token, time_point now);
    [[nodiscard]] action on_raised(std::size_t who, bool done, time_point now);
    [[nodiscard]] action on_elapsed(time_point now);

    [[nodiscard]] fence highest() const noexcept { return highest_; }
    // Where a request may still be on its way: to be undone again later.
    [[nodiscard]] member_set uncertain() const noexcept { return silent_ | open(); }
    // Who has said yes to what was asked last, and may be relied on.
    [[nodiscard]] member_set votes() const noexcept { return said_yes() & counted_; }
    // And who may not.
    [[nodiscard]] member_set doubted() const noexcept { return said_yes() & ~counted_; }
    // Some members were ours, and too few: others ask at the same time.
    [[nodiscard]] bool split() const noexcept { return held_.any(); }

  private:
    enum class state { voting, raising, failing, granted, over };

    [[nodiscard]] member_set open() const noexcept;
    [[nodiscard]] member_set said_yes() const noexcept { return asked_to_raise_.any() ? raised_ : held_; }
    [[nodiscard]] std::size_t majority() const noexcept { return majority_of(how_.members); }
    void judge(action& a, time_point now);
    void judge_raised(action& a, time_point now);
    void fail(action& a);
    void explain(action& a);
    void end(action& a, outcome o);

    const ballot_settings how_;
    const time_point deadline_;
    state state_ = state::voting;
    member_set answered_;
    member_set held_;     // our token is there
    member_set counted_;  // of them: a vote
    member_set busy_;
    member_set silent_;
    member_set asked_to_raise_;
    member_set answered_raise_;
    member_set raised_;
    fence highest_ = fence::none;
};

}  // namespace holdfast::engine
