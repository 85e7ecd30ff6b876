// Until when the store may keep a lock whose release has no answer.
#include "unit/session/scripted_store.hpp"

#include <future>

namespace holdfast::session {
namespace {

using namespace backend;

class unanswered_release : public with_scripted_store {
  protected:
    using outcome = client_lock::outcome;

    unanswered_release() : with_scripted_store({.answer_timeout = answer_timeout}) {
        store->is_silent_to_releases();
    }

    static time_point end_of(const outcome& got) {
        const auto end = std::get<std::shared_ptr<hold>>(got)->release();
        EXPECT_EQ(end, release_outcome::unknown_until);
        return end.until;
    }
    static std::shared_ptr<held_lease> of(const outcome& got) {
        return std::static_pointer_cast<hold_of_one>(std::get<std::shared_ptr<hold>>(got))->of;
    }
    // The renewal is under way when this returns. Returns a time before it was sent.
    time_point renew_for(milliseconds lease, const outcome& got) {
        client->keep_renewed(of(got), lease);
        const auto before = boot_clock::now();
        client->renew_now(of(got), 0);
        (void)store->renewal(0);
        return before;
    }
    // A wake hands the lock off for 3 s to a client that wants it for 2 s.
    outcome handed_off() {
        store->will_answer(busy{"other", std::nullopt, {}, {}});
        store->will_answer(busy{"other", std::nullopt, "ticket", 3s});
        std::promise<outcome> got;
        mine->acquire_later({.give_up_at = time_point::max(), .ttl = 2s},
                            [&](outcome o) { got.set_value(std::move(o)); });
        client->reactor().run_and_wait([] {});
        woken = boot_clock::now();
        store->wake("ticket");
        return got.get_future().get();
    }

    static constexpr milliseconds answer_timeout = 500ms;  // more than what drift adds
    // A request may wait for a connection before it is on its way.
    static constexpr milliseconds latest_arrival = answer_timeout + engine::longest_on_its_way;

    const std::shared_ptr<client_lock> mine = lock_of(kind::native);
    time_point woken;
};

TEST_F(unanswered_release, of_a_handed_off_lock_counts_from_the_hand_off) {
    const auto until = end_of(handed_off());
    EXPECT_GE(until, woken + 3s);
}

// The request may lie in the network until the connection is given up everywhere.
TEST_F(unanswered_release, counts_an_unanswered_renewal_from_its_latest_arrival) {
    const auto got = mine->acquire({.ttl = 2s});
    const auto sent = renew_for(10s, got);
    EXPECT_GE(end_of(got), sent + latest_arrival + 10s);
}

TEST_F(unanswered_release, counts_an_abandoned_renewal_from_its_latest_arrival) {
    const auto got = mine->acquire({.ttl = 2s});
    const auto sent = renew_for(10s, got);
    store->answer(0, unknown{});
    EXPECT_GE(end_of(got), sent + latest_arrival + 10s);
}

TEST_F(unanswered_release, counts_an_answered_renewal_from_the_answer) {
    const auto got = mine->acquire({.ttl = 2s});
    (void)renew_for(10s, got);
    const auto before = boot_clock::now();
    store->renews(0);
    const auto after = boot_clock::now();
    const auto until = end_of(got);
    EXPECT_GE(until, before + 10s);
    EXPECT_LE(until, after + 10s + 200ms);
}

TEST_F(unanswered_release, counts_a_refused_renewal_from_the_answer) {
    const auto got = mine->acquire({.ttl = 2s});
    (void)renew_for(10s, got);
    store->answer(0, refused{{errc::no_permission, {}, "NOPERM no right"}});
    const auto after = boot_clock::now();
    EXPECT_LE(end_of(got), after + 10s + 200ms);
}

TEST_F(unanswered_release, counts_an_unanswered_attempt_from_its_latest_arrival) {
    store->will_answer(unknown{{make_error_code(errc::unknown_outcome), {}}});
    const auto sent = boot_clock::now();
    const auto got = mine->acquire({.give_up_at = time_point::max(), .ttl = 2s});
    EXPECT_GE(end_of(got), sent + latest_arrival + 2s);
}

TEST_F(unanswered_release, of_a_handed_off_lease_counts_renewals_of_its_first_holder) {
    const auto got = mine->acquire({});
    const auto first = of(got);
    const auto sent = renew_for(40s, got);
    const auto next = std::make_shared<held_lease>(first->store, first->key, first->owner, first->terms(),
                                                   first->fence, first->deadline(), boot_clock::now());
    ASSERT_TRUE(first->move_to(lease_state::released));
    client->handed_off(*first, next, {});
    EXPECT_GE(client->store_frees(*next, boot_clock::now()), sent + latest_arrival + 40s);
    store->renews(0);
    EXPECT_LE(client->store_frees(*next, boot_clock::now()), boot_clock::now() + 41s);
    client->ended(*next, boot_clock::now());
}

TEST_F(unanswered_release, counts_no_lease_that_was_never_requested) {
    const auto got = mine->acquire({.ttl = 2s});
    const auto until = end_of(got);
    EXPECT_LE(until, boot_clock::now() + 2s + 100ms);
}

}  // namespace
}  // namespace holdfast::session
