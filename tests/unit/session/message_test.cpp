// What a message means that comes to a holder: somebody may have taken the lock away.
#include "unit/session/told_store.hpp"

#include <functional>
#include <future>
#include <stdexcept>

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
        for (; answered < store->renewals(); ++answered) store->renews(answered);
        settle();
        return std::static_pointer_cast<hold_of_one>(std::get<std::shared_ptr<hold>>(there.get()));
    }
    void settle() {
        for (int i = 0; i < 3; ++i) client->reactor().run_and_wait([] {});
    }
    void renews() {
        (void)store->renewal(answered);
        store->renews(answered++);
        settle();
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

    // One that has it from a holder who has waited; that one is gone when this returns. `meanwhile` runs
    // before it is passed on, which a busy machine may be too late for.
    std::shared_ptr<hold_of_one> passed_on(
        kind k, const std::function<void()>& meanwhile = [] {}) {
        const auto give_up_at = boot_clock::now() + 20s;
        for (;;) {
            auto first = waited_for(k);
            const auto owner = first->owner();
            std::promise<std::shared_ptr<hold>> next;
            lock_of(k)->acquire_later({.give_up_at = time_point::max()}, [&](const cell::outcome& o) {
                next.set_value(std::get<std::shared_ptr<hold>>(o));
            });
            settle();
            meanwhile();
            const auto open = store->renewals();
            store->renews_at_once(true);  // first it is asked for
            EXPECT_EQ(first->release(), release_outcome::released);
            first.reset();
            auto heir = std::static_pointer_cast<hold_of_one>(next.get_future().get());
            settle();
            store->renews_at_once(false);
            if (heir->owner() == owner) {
                by_itself = store->renewals() - open;
                return heir;
            }
            for (; answered < open; ++answered) store->renews(answered);
            heir->release();
            settle();
            answered = store->renewals();
            if (boot_clock::now() >= give_up_at) throw std::runtime_error("it is never passed on");
        }
    }

    std::size_t answered = 0;
    std::size_t by_itself = 0;  // of the renewals: answered at once
};

TEST_F(a_holder_that_listens, asks_the_store_when_a_message_comes) {
    for (const auto k : {kind::recursive, kind::recursive_fenced, kind::shared_write, kind::shared_read}) {
        const auto held = waited_for(k);
        EXPECT_EQ(asked(), 0U);
        store->wake();
        EXPECT_EQ(asked(), 1U);
        EXPECT_TRUE(held->valid());
        answer(not_held{});
        EXPECT_FALSE(held->valid());
        EXPECT_EQ(held->state(), lease_state::lost);
    }
}

TEST_F(a_holder_that_listens, asks_once_more_for_all_messages_that_come_while_it_asks) {
    const auto held = waited_for(kind::recursive);
    for (int i = 0; i < 100; ++i) store->wake();
    EXPECT_EQ(asked(), 1U);
    renews();
    EXPECT_EQ(asked(), 1U);
    renews();
    EXPECT_EQ(asked(), 0U);
    store->wake();
    EXPECT_EQ(asked(), 1U);
    renews();
    EXPECT_TRUE(held->valid());
}

TEST_F(a_holder_that_listens, lengthens_no_lease_that_is_not_to_be_renewed) {
    const auto held = waited_for(kind::recursive, {.ttl = 10s});
    const auto deadline = held->deadline();
    store->wake();
    EXPECT_EQ(asked(), 1U);
    EXPECT_EQ(store->renewal(answered).lease, 1ms);
    renews();
    EXPECT_EQ(held->deadline(), deadline);
}

TEST_F(a_holder_that_listens, asks_nothing_once_it_has_given_it_back) {
    const auto held = waited_for(kind::recursive);
    store->is_silent_to_releases();
    held->release_later({});
    store->wake();
    EXPECT_EQ(asked(), 0U);
}

TEST_F(a_holder_that_listens, asks_too_if_it_has_the_lock_from_a_thread_that_is_gone) {
    const auto heir = passed_on(kind::recursive);
    answered += by_itself;
    EXPECT_EQ(asked(), 0U);
    store->wake();
    EXPECT_EQ(asked(), 1U);
    answer(not_held{});
    EXPECT_FALSE(heir->valid());
}

// The second message may be of somebody who took the lock away after the first question was answered.
TEST_F(a_holder_that_listens, asks_for_a_message_that_came_while_its_predecessor_asked) {
    const auto heir = passed_on(kind::recursive, [&] {
        store->wake();
        settle();
        store->wake();
    });
    renews();
    answered += by_itself;
    EXPECT_EQ(asked(), 1U);
    answer(not_held{});
    EXPECT_FALSE(heir->valid());
}

// Nobody takes it away but by an eviction, which says whom it means.
TEST_F(a_holder_that_listens, of_a_mutex_asks_nothing) {
    const auto held = waited_for(kind::native);
    store->wake();
    EXPECT_EQ(asked(), 0U);
}

}  // namespace
}  // namespace holdfast::session
