// The fences of a lock that threads hand off: a store says how many one grant has.
#include "unit/session/scripted_store.hpp"

#include <future>

namespace holdfast::session {
namespace {

using namespace backend;

class fences_of_one_grant : public with_scripted_store {
  protected:
    using held = std::shared_ptr<hold_of_one>;

    held granted_with(std::uint64_t fence) {
        store->will_answer(granted{30s, static_cast<holdfast::fence>(fence)});
        return hold_in(lock_of(kind::native_fenced)->acquire({.give_up_at = time_point::max()}));
    }
    // Releases `from` while another thread waits. Returns the hold of that thread.
    held next_after(held& from) {
        std::promise<client_lock::outcome> got;
        lock_of(kind::native_fenced)
            ->acquire_later({.give_up_at = time_point::max()},
                            [&](client_lock::outcome o) { got.set_value(std::move(o)); });
        client->reactor().run_and_wait([] {});
        EXPECT_EQ(from->release(), release_outcome::released);
        return hold_in(got.get_future().get());
    }
    static held hold_in(const client_lock::outcome& o) {
        return std::static_pointer_cast<hold_of_one>(std::get<std::shared_ptr<hold>>(o));
    }
};

TEST_F(fences_of_one_grant, go_to_no_more_threads_than_there_are_fences) {
    store->can.fences_per_grant = 2;
    // A lease is handed off within 10 ms of its grant; a busy machine may be too late for that.
    for (const auto give_up_at = boot_clock::now() + 20s;;) {
        ASSERT_LT(boot_clock::now(), give_up_at) << "it is never handed off";
        auto first = granted_with(32);
        const auto owner = first->owner();
        store->will_answer(granted{30s, holdfast::fence{64}});
        auto second = next_after(first);
        if (second->owner() != owner) {
            second->release();
            continue;
        }
        EXPECT_EQ(to_number(second->fence()), 33U);
        store->will_answer(granted{30s, holdfast::fence{64}});
        auto third = next_after(second);
        EXPECT_NE(third->owner(), owner);
        EXPECT_EQ(to_number(third->fence()), 64U);
        third->release();
        return;
    }
}

TEST_F(fences_of_one_grant, are_not_invented_if_a_grant_has_only_one) {
    for (std::uint64_t round = 1; round <= 20; ++round) {
        auto first = granted_with(2 * round);
        store->will_answer(granted{30s, static_cast<holdfast::fence>(2 * round + 1)});
        auto second = next_after(first);
        EXPECT_NE(second->owner(), first->owner());
        EXPECT_EQ(to_number(second->fence()), 2 * round + 1);
        second->release();
    }
}

}  // namespace
}  // namespace holdfast::session
