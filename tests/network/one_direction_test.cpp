// What a machine says vanishes while it hears all, or the other way round. No connection ends. Nobody has the
// lock twice, and who believes to have it stops to in time.
#include "network/scene.hpp"

#include <algorithm>

namespace holdfast::test {
namespace {

class in_one_direction : public one_server {};

TEST_F(in_one_direction, a_holder_whose_words_vanish_knows_before_somebody_else_has_the_lock) {
    auto holder = client_on_a_machine();
    auto waiter = client_on_a_machine();
    take(holder);
    tell(waiter, "acquire");
    await_in_line(1);
    tell(holder, "lose");
    holder.mute();
    const auto muted = boot_clock::now();
    const auto got = said(waiter, "got");
    const auto deadline = said(holder, "deadline");
    EXPECT_LE(deadline, got) << "two had it at once";
    EXPECT_LE(said(holder, "lost"), deadline + slack) << "the holder was told late";
    EXPECT_LE(got, muted + lease_length + poll_gap + slack);
    EXPECT_FALSE(believes(holder));

    // What it said meanwhile is sent again by its kernel. Nothing of it takes the lock from who has it now.
    holder.heal();
    const auto healed = boot_clock::now();
    tell(holder, "acquire");
    await_in_line(1);
    EXPECT_TRUE(believes(waiter));
    give_back(waiter);
    EXPECT_LE(said(holder, "got"), healed + 2 * silence + poll_gap + slack);
}

TEST_F(in_one_direction, a_holder_that_hears_no_answer_does_not_count_the_renewals_that_arrived) {
    auto holder = client_on_a_machine();
    auto waiter = client_on_a_machine();
    take(holder);
    tell(waiter, "acquire");
    await_in_line(1);
    await_renewals(holder, 1);  // so the server knows the script, and the next one is not due for a while
    const auto until = kept_until();
    holder.deafen();
    tell(holder, "lose");
    // The server has renewed, and says so to nobody.
    moment until_after_all;
    EXPECT_TRUE(eventually(patience, [&] {
        until_after_all = kept_until();
        return until_after_all > until + lease_length / 8;
    })) << "no renewal arrived";
    const auto deadline = said(holder, "deadline");
    const auto lost = said(holder, "lost");
    const auto got = said(waiter, "got");
    EXPECT_LE(deadline, until) << "a renewal without an answer was believed";
    EXPECT_LE(lost, deadline + slack) << "the holder was told late";
    // By how much the server is later nobody knows but the server; a millisecond is what PTTL shows.
    EXPECT_GE(got, until_after_all - 2ms) << "it was not kept for as long as it was renewed";
    EXPECT_LE(got, until_after_all + silence + poll_gap + slack);

    // What was said to it meanwhile it hears now, and it revives nothing.
    holder.heal();
    EXPECT_FALSE(believes(holder));
    give_back(waiter);
    take(holder);
    EXPECT_TRUE(believes(holder));
}

// The message is enough to have it for the time of the grant. Nothing makes that longer.
TEST_F(in_one_direction, a_waiter_that_is_handed_the_lock_and_cannot_claim_it_has_it_for_the_grant_alone) {
    constexpr auto own_lease = 3 * grant_length;
    auto holder = client_on_a_machine();
    auto handed = client_on_a_machine(own_lease);
    auto behind = client_on_a_machine();
    take(holder);
    tell(handed, "acquire");
    await_in_line(1);
    tell(behind, "acquire");
    await_in_line(2);
    // It has just been answered, and asks nothing for a while.
    handed.mute();
    give_back(holder);
    const auto released = boot_clock::now();
    const auto heard = said(handed, "got");
    EXPECT_TRUE(believes(handed));
    tell(handed, "lose");
    const auto deadline = said(handed, "deadline");
    const auto got = said(behind, "got");
    EXPECT_LT(heard, deadline);
    EXPECT_LE(deadline, got) << "two had it at once";
    EXPECT_LE(said(handed, "lost"), deadline + slack) << "it was told late";
    EXPECT_LE(got, released + grant_length + poll_gap + slack);

    handed.heal();
    EXPECT_TRUE(believes(behind));
    give_back(behind);
    take(handed);
    EXPECT_TRUE(believes(handed));
}

// It is the first in line, and deaf: it goes on asking, and does not know what the server answers.
TEST_F(in_one_direction, a_waiter_that_does_not_hear_that_it_was_handed_the_lock_has_it_never) {
    auto holder = client_on_a_machine();
    auto deaf = client_on_a_machine();
    auto behind = client_on_a_machine();
    take(holder);
    tell(deaf, "acquire");
    await_in_line(1);
    tell(behind, "acquire");
    await_in_line(2);
    deaf.deafen();
    give_back(holder);
    const auto released = boot_clock::now();
    const auto got = said(behind, "got");
    // What it asks is heard, and may be granted, and it does not know.
    EXPECT_LE(got, released + std::max(grant_length, lease_length) + poll_gap + slack);

    deaf.heal();
    const auto healed = boot_clock::now();
    give_back(behind);
    const auto got_in_the_end = said(deaf, "got");
    EXPECT_GE(got_in_the_end, got) << "it believed a grant that was over";
    EXPECT_LE(got_in_the_end, healed + 2 * silence + poll_gap + slack);
}

}  // namespace
}  // namespace holdfast::test
