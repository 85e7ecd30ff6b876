// Cables that are pulled: packets vanish, no connection ends. The holder learns of its loss in time, no
// other client has the lock before, and waiters are served in time when they can be.
#include "network/scene.hpp"

namespace holdfast::test {
namespace {

class severed : public one_server {};

TEST_F(severed, holder_learns_of_the_loss_before_a_waiter_gets_the_lock) {
    auto holder = client_on_a_machine();
    auto waiter = client_on_a_machine();
    acquire_and_queue(holder, {&waiter});
    send_line(holder, "lose");
    holder.pull();
    const auto pulled = boot_clock::now();
    const auto got = time_of(waiter, "got");
    const auto deadline = time_of(holder, "deadline");
    const auto lost = time_of(holder, "lost");
    EXPECT_LE(deadline, got) << "two clients held the lock at once";
    EXPECT_LE(lost, deadline + slack) << "the holder learned of the loss late";
    EXPECT_LE(got, pulled + lease_length + poll_gap + slack);

    EXPECT_FALSE(lease_is_valid(holder));
    holder.plug_in();
    const auto healed = boot_clock::now();
    release(waiter);
    EXPECT_LE(acquire(holder), healed + 2 * reply_timeout + poll_gap + slack);
}

TEST_F(severed, waiter_delays_those_behind_it_by_its_grant_only) {
    auto holder = client_on_a_machine();
    auto cut_off = client_on_a_machine();
    auto behind = client_on_a_machine();
    acquire_and_queue(holder, {&cut_off, &behind});
    cut_off.pull();
    release(holder);
    const auto released = boot_clock::now();
    const auto got = time_of(behind, "got");
    EXPECT_LE(got, released + grant_length + poll_gap + slack);

    cut_off.plug_in();
    const auto healed = boot_clock::now();
    release(behind);
    const auto got_in_the_end = time_of(cut_off, "got");
    EXPECT_GE(got_in_the_end, got) << "the waiter believed in a grant that was over";
    EXPECT_LE(got_in_the_end, healed + 2 * reply_timeout + poll_gap + slack);
}

TEST_F(severed, server_serves_its_waiter_once_it_can_be_reached_again) {
    auto holder = client_on_a_machine();
    auto waiter = client_on_a_machine();
    acquire_and_queue(holder, {&waiter});
    send_line(holder, "lose");
    holder.pull();
    waiter.pull();
    const auto deadline = time_of(holder, "deadline");
    EXPECT_LE(time_of(holder, "lost"), deadline + slack) << "the holder learned of the loss late";
    waiter.plug_in();
    const auto healed = boot_clock::now();
    const auto got = time_of(waiter, "got");
    EXPECT_GE(got, deadline);
    EXPECT_LE(got, healed + 2 * reply_timeout + poll_gap + slack);
}

TEST_F(severed, lease_outlives_a_shorter_cut) {
    auto holder = client_on_a_machine(6s * slower);
    acquire(holder);
    holder.pull();
    // It asks for a renewal, and receives no reply.
    const auto left = [&] { return key_expiry() - boot_clock::now(); };
    ASSERT_TRUE(eventually(patience, [&] { return left() < 3s * slower; }));
    holder.plug_in();
    EXPECT_TRUE(eventually(patience, [&] { return left() > 4s * slower; })) << "it was not renewed";
    EXPECT_TRUE(lease_is_valid(holder));
    release(holder);
}

}  // namespace
}  // namespace holdfast::test
