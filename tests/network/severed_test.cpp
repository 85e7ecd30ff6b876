// Cables that are pulled: packets vanish, no connection ends. The holder learns of it in time, nobody else
// has the lock before, and waiters are served in time when they can be.
#include "network/scene.hpp"

namespace holdfast::test {
namespace {

class severed : public one_server {};

TEST_F(severed, a_holder_is_told_before_somebody_else_has_the_lock) {
    auto holder = client_on_a_machine();
    auto waiter = client_on_a_machine();
    take(holder);
    tell(waiter, "acquire");
    await_in_line(1);
    tell(holder, "lose");
    holder.pull();
    const auto pulled = boot_clock::now();
    const auto got = said(waiter, "got");
    const auto deadline = said(holder, "deadline");
    const auto lost = said(holder, "lost");
    EXPECT_LE(deadline, got) << "two had it at once";
    EXPECT_LE(lost, deadline + slack) << "the holder was told late";
    EXPECT_LE(got, pulled + lease_length + poll_gap + slack);

    EXPECT_FALSE(believes(holder));
    holder.plug_in();
    const auto healed = boot_clock::now();
    give_back(waiter);
    EXPECT_LE(take(holder), healed + 2 * silence + poll_gap + slack);
}

TEST_F(severed, a_waiter_keeps_those_behind_it_waiting_for_its_grant_and_no_longer) {
    auto holder = client_on_a_machine();
    auto cut_off = client_on_a_machine();
    auto behind = client_on_a_machine();
    take(holder);
    tell(cut_off, "acquire");
    await_in_line(1);
    tell(behind, "acquire");
    await_in_line(2);
    cut_off.pull();
    give_back(holder);
    const auto released = boot_clock::now();
    const auto got = said(behind, "got");
    EXPECT_LE(got, released + grant_length + poll_gap + slack);

    cut_off.plug_in();
    const auto healed = boot_clock::now();
    give_back(behind);
    const auto got_in_the_end = said(cut_off, "got");
    EXPECT_GE(got_in_the_end, got) << "it believed a grant that was over";
    EXPECT_LE(got_in_the_end, healed + 2 * silence + poll_gap + slack);
}

TEST_F(severed, a_server_that_nobody_reached_serves_who_waited_when_it_is_back) {
    auto holder = client_on_a_machine();
    auto waiter = client_on_a_machine();
    take(holder);
    tell(waiter, "acquire");
    await_in_line(1);
    tell(holder, "lose");
    holder.pull();
    waiter.pull();
    const auto deadline = said(holder, "deadline");
    EXPECT_LE(said(holder, "lost"), deadline + slack) << "the holder was told late";
    waiter.plug_in();
    const auto healed = boot_clock::now();
    const auto got = said(waiter, "got");
    EXPECT_GE(got, deadline);
    EXPECT_LE(got, healed + 2 * silence + poll_gap + slack);
}

TEST_F(severed, a_lease_outlives_a_cut_that_is_shorter) {
    auto holder = client_on_a_machine(6s * slower);
    take(holder);
    holder.pull();
    // It asks for a renewal, and hears nothing.
    const auto left = [&] { return kept_until() - boot_clock::now(); };
    ASSERT_TRUE(eventually(patience, [&] { return left() < 3s * slower; }));
    holder.plug_in();
    EXPECT_TRUE(eventually(patience, [&] { return left() > 4s * slower; })) << "it was not renewed";
    EXPECT_TRUE(believes(holder));
    give_back(holder);
}

}  // namespace
}  // namespace holdfast::test
