// A machine receives and cannot send, or the other way round. No connection ends. No two clients hold the
// lock at once, and a holder stops believing in its lease in time.
#include "network/scene.hpp"

#include <algorithm>

namespace holdfast::test {
namespace {

class one_way_cut : public one_server {};

TEST_F(one_way_cut, mute_holder_learns_of_the_loss_before_a_waiter_gets_the_lock) {
    auto holder = client_on_a_machine();
    auto waiter = client_on_a_machine();
    acquire_and_queue(holder, {&waiter});
    send_line(holder, "lose");
    holder.mute();
    const auto muted = boot_clock::now();
    const auto got = time_of(waiter, "got");
    const auto deadline = time_of(holder, "deadline");
    EXPECT_LE(deadline, got) << "two clients held the lock at once";
    EXPECT_LE(time_of(holder, "lost"), deadline + slack) << "the holder learned of the loss late";
    EXPECT_LE(got, muted + lease_length + poll_gap + slack);
    EXPECT_FALSE(lease_is_valid(holder));

    // Its kernel sends again what was lost meanwhile. Nothing of it takes the lock from the present holder.
    holder.heal();
    const auto healed = boot_clock::now();
    send_line(holder, "acquire");
    await_waiters(1);
    EXPECT_TRUE(lease_is_valid(waiter));
    release(waiter);
    EXPECT_LE(time_of(holder, "got"), healed + 2 * reply_timeout + poll_gap + slack);
}

TEST_F(one_way_cut, deaf_holder_counts_no_renewal_without_a_reply) {
    auto holder = client_on_a_machine();
    auto waiter = client_on_a_machine();
    acquire_and_queue(holder, {&waiter});
    await_renewals(holder, 1);  // so the server knows the script, and the next one is not due for a while
    const auto until = key_expiry();
    holder.deafen();
    send_line(holder, "lose");
    // The server renews, and its replies are lost.
    moment until_after_all;
    EXPECT_TRUE(eventually(patience, [&] {
        until_after_all = key_expiry();
        return until_after_all > until + lease_length / 8;
    })) << "no renewal arrived";
    const auto deadline = time_of(holder, "deadline");
    const auto lost = time_of(holder, "lost");
    const auto got = time_of(waiter, "got");
    EXPECT_LE(deadline, until) << "the holder counted a renewal without a reply";
    EXPECT_LE(lost, deadline + slack) << "the holder learned of the loss late";
    // Only the server knows by how much it is later; PTTL shows milliseconds.
    EXPECT_GE(got, until_after_all - 2ms) << "the server did not keep the lock for as long as it renewed it";
    EXPECT_LE(got, until_after_all + reply_timeout + poll_gap + slack);

    // Now it receives the replies of that time, and they revive nothing.
    holder.heal();
    EXPECT_FALSE(lease_is_valid(holder));
    release(waiter);
    acquire(holder);
    EXPECT_TRUE(lease_is_valid(holder));
}

// The message is enough to hold the lock for the time of the grant. Nothing makes that longer.
TEST_F(one_way_cut, mute_waiter_holds_a_handed_over_lock_for_the_grant_only) {
    constexpr auto own_lease = 3 * grant_length;
    auto holder = client_on_a_machine();
    auto handed = client_on_a_machine(own_lease);
    auto behind = client_on_a_machine();
    acquire_and_queue(holder, {&handed, &behind});
    // It has just received a reply, and asks nothing for a while.
    handed.mute();
    release(holder);
    const auto released = boot_clock::now();
    const auto handed_at = time_of(handed, "got");
    EXPECT_TRUE(lease_is_valid(handed));
    send_line(handed, "lose");
    const auto deadline = time_of(handed, "deadline");
    const auto got = time_of(behind, "got");
    EXPECT_LT(handed_at, deadline);
    EXPECT_LE(deadline, got) << "two clients held the lock at once";
    EXPECT_LE(time_of(handed, "lost"), deadline + slack) << "the waiter learned of the loss late";
    EXPECT_LE(got, released + grant_length + poll_gap + slack);

    handed.heal();
    EXPECT_TRUE(lease_is_valid(behind));
    release(behind);
    acquire(handed);
    EXPECT_TRUE(lease_is_valid(handed));
}

// The first waiter in the queue is deaf: it goes on asking, and does not receive what the server answers.
TEST_F(one_way_cut, deaf_waiter_never_holds_the_lock_that_it_was_handed) {
    auto holder = client_on_a_machine();
    auto deaf = client_on_a_machine();
    auto behind = client_on_a_machine();
    acquire_and_queue(holder, {&deaf, &behind});
    deaf.deafen();
    release(holder);
    const auto released = boot_clock::now();
    const auto got = time_of(behind, "got");
    // Its requests arrive and may be granted, and it does not know.
    EXPECT_LE(got, released + std::max(grant_length, lease_length) + poll_gap + slack);

    deaf.heal();
    const auto healed = boot_clock::now();
    release(behind);
    const auto got_in_the_end = time_of(deaf, "got");
    EXPECT_GE(got_in_the_end, got) << "the waiter believed in a grant that was over";
    EXPECT_LE(got_in_the_end, healed + 2 * reply_timeout + poll_gap + slack);
}

}  // namespace
}  // namespace holdfast::test
