// What a message means to a holder: another client may have taken the lock away.
#include "unit/session/scripted_store.hpp"

#include <functional>
#include <future>
#include <stdexcept>

namespace holdfast::session {
namespace {

using namespace backend;

class listening_holder : public with_scripted_store {
  protected:
    // It has waited for the lock, so it receives the messages for waiters.
    std::shared_ptr<hold_of_one> waited_for(kind k, acquisition how = {}) {
        const auto mine = lock_of(k);
        store->will_answer(busy{"other", {}, {}, {}});
        store->will_answer(busy{"other", {}, {}, {}});
        how.give_up_at = time_point::max();
        std::promise<client_lock::outcome> got;
        mine->acquire_later(how, [&](client_lock::outcome o) { got.set_value(std::move(o)); });
        auto there = got.get_future();
        while (there.wait_for(1ms) != std::future_status::ready)
            if (store->watches() > 0) store->wake();
        settle();
        // Messages during the attempt made it ask whether it still holds the lock, and those during that,
        // again.
        while (answered < store->renewals()) {
            for (; answered < store->renewals(); ++answered) store->renews(answered);
            settle();
        }
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

    // A hold that was handed off by a holder that had waited; that holder is gone when this returns.
    // `meanwhile` runs before the hand-off, for which a busy machine may be too late.
    std::shared_ptr<hold_of_one> handed_off(
        kind k, const std::function<void()>& meanwhile = [] {}) {
        const auto give_up_at = boot_clock::now() + 20s;
        for (;;) {
            auto first = waited_for(k);
            const auto owner = first->owner();
            std::promise<std::shared_ptr<hold>> next;
            lock_of(k)->acquire_later({.give_up_at = time_point::max()}, [&](const client_lock::outcome& o) {
                next.set_value(std::get<std::shared_ptr<hold>>(o));
            });
            settle();
            meanwhile();
            const auto open = store->renewals();
            store->renews_at_once(true);  // the hand-off asks the store first
            EXPECT_EQ(first->release(), release_outcome::released);
            first.reset();
            auto successor = std::static_pointer_cast<hold_of_one>(next.get_future().get());
            settle();
            store->renews_at_once(false);
            if (successor->owner() == owner) {
                by_itself = store->renewals() - open;
                return successor;
            }
            for (; answered < open; ++answered) store->renews(answered);
            successor->release();
            settle();
            answered = store->renewals();
            if (boot_clock::now() >= give_up_at) throw std::runtime_error("it is never handed off");
        }
    }

    std::size_t answered = 0;
    std::size_t by_itself = 0;  // renewals that were answered at once
};

TEST_F(listening_holder, asks_the_store_when_a_message_comes) {
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

TEST_F(listening_holder, asks_once_more_for_all_messages_that_come_while_it_asks) {
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

TEST_F(listening_holder, does_not_extend_a_lease_that_must_not_be_renewed) {
    const auto held = waited_for(kind::recursive, {.ttl = 10s});
    const auto deadline = held->deadline();
    store->wake();
    EXPECT_EQ(asked(), 1U);
    EXPECT_EQ(store->renewal(answered).lease, 1ms);
    renews();
    EXPECT_EQ(held->deadline(), deadline);
}

TEST_F(listening_holder, asks_nothing_after_its_release) {
    const auto held = waited_for(kind::recursive);
    store->is_silent_to_releases();
    held->release_later({});
    store->wake();
    EXPECT_EQ(asked(), 0U);
}

TEST_F(listening_holder, asks_too_if_it_got_the_lock_from_a_thread_that_is_gone) {
    const auto successor = handed_off(kind::recursive);
    answered += by_itself;
    EXPECT_EQ(asked(), 0U);
    store->wake();
    EXPECT_EQ(asked(), 1U);
    answer(not_held{});
    EXPECT_FALSE(successor->valid());
}

// The second message may report that the lock was taken after the first question was answered.
TEST_F(listening_holder, asks_about_a_message_that_came_while_its_predecessor_asked) {
    const auto successor = handed_off(kind::recursive, [&] {
        store->wake();
        settle();
        store->wake();
    });
    renews();
    answered += by_itself;
    EXPECT_EQ(asked(), 1U);
    answer(not_held{});
    EXPECT_FALSE(successor->valid());
}

// Only an eviction takes a mutex away, and it names the owner.
TEST_F(listening_holder, asks_nothing_about_a_mutex) {
    const auto held = waited_for(kind::native);
    store->wake();
    EXPECT_EQ(asked(), 0U);
}

}  // namespace
}  // namespace holdfast::session
