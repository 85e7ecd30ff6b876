// What a message means that comes to a holder: somebody may have taken the lock away.
#include "unit/session/told_store.hpp"

#include <future>

namespace holdfast::session {
namespace {

using namespace backend;

class a_holder_that_listens : public with_told_store {
  protected:
    // It has waited for the lock, and so hears what is said to those who wait.
    std::shared_ptr<hold_of_one> waited_for(kind k, acquisition how = {}) {
        const auto mine = lock_of(k);
        store->will_answer(busy{"other", {}, {}, {}});
        store->will_answer(busy{"other", {}, {}, {}});
        how.give_up_at = time_point::max();
        std::promise<cell::outcome> got;
        mine->acquire_later(how, [&](cell::outcome o) { got.set_value(std::move(o)); });
        auto there = got.get_future();
        while (there.wait_for(1ms) != std::future_status::ready)
            if (store->watches() > 0) store->wake();
        settle();
        // What came while it asked was a reason to ask whether it is held.
        for (; answered < store->renewals(); ++answered) store->answer(answered, renew_answer::renewed);
        settle();
        return std::static_pointer_cast<hold_of_one>(std::get<std::shared_ptr<hold>>(there.get()));
    }
    void settle() {
        for (int i = 0; i < 3; ++i) client->reactor().run_and_wait([] {});
    }
    void answer(renew_answer a) {
        (void)store->renewal(answered);
        store->answer(answered++, a);
        settle();
    }
    std::size_t asked() {
        settle();
        return store->renewals() - answered;
    }

    std::size_t answered = 0;
};

TEST_F(a_holder_that_listens, asks_the_store_when_a_message_comes) {
    for (const auto k : {kind::recursive, kind::recursive_fenced, kind::shared_write, kind::shared_read}) {
        const auto held = waited_for(k);
        EXPECT_EQ(asked(), 0U);
        store->wake();
        EXPECT_EQ(asked(), 1U);
        EXPECT_TRUE(held->valid());
        answer(renew_answer::lost);
        EXPECT_FALSE(held->valid());
        EXPECT_EQ(held->state(), lease_state::lost);
    }
}

TEST_F(a_holder_that_listens, asks_once_more_for_all_messages_that_come_while_it_asks) {
    const auto held = waited_for(kind::recursive);
    for (int i = 0; i < 100; ++i) store->wake();
    EXPECT_EQ(asked(), 1U);
    answer(renew_answer::renewed);
    EXPECT_EQ(asked(), 1U);
    answer(renew_answer::renewed);
    EXPECT_EQ(asked(), 0U);
    store->wake();
    EXPECT_EQ(asked(), 1U);
    answer(renew_answer::renewed);
    EXPECT_TRUE(held->valid());
}

TEST_F(a_holder_that_listens, lengthens_no_lease_that_is_not_to_be_renewed) {
    const auto held = waited_for(kind::recursive, {.ttl = 10s});
    const auto deadline = held->deadline();
    store->wake();
    EXPECT_EQ(asked(), 1U);
    EXPECT_EQ(store->renewal(answered).lease, 1ms);
    answer(renew_answer::renewed);
    EXPECT_EQ(held->deadline(), deadline);
}

TEST_F(a_holder_that_listens, asks_nothing_once_it_has_given_it_back) {
    const auto held = waited_for(kind::recursive);
    store->is_silent_to_releases();
    held->release_later({});
    store->wake();
    EXPECT_EQ(asked(), 0U);
}

// Nobody takes it away but by an eviction, which says whom it means.
TEST_F(a_holder_that_listens, of_a_mutex_asks_nothing) {
    const auto held = waited_for(kind::native);
    store->wake();
    EXPECT_EQ(asked(), 0U);
}

}  // namespace
}  // namespace holdfast::session
