// When a client starts to listen for messages that ask for its locks.
#include "unit/session/scripted_store.hpp"

#include <future>

namespace holdfast::session {
namespace {

class client_with_requests : public with_scripted_store {};

TEST_F(client_with_requests, listens_for_a_lease_that_begins_while_it_looks_at_others) {
    std::promise<void> looks, begins, listens;
    std::atomic<bool> looked{false}, notified{false};
    store->on_hear_requests([&, begun = begins.get_future().share()](const lock_name& name) {
        if (name == lock_name{"first"} && !looked.exchange(true)) {
            looks.set_value();
            begun.wait();
        }
        if (name == lock_name{"second"} && !notified.exchange(true)) listens.set_value();
    });
    const auto first = lock_of(backend::kind::native, "first")->acquire({});
    looks.get_future().wait();
    const auto got = lock_of(backend::kind::native, "second")->acquire({});
    begins.set_value();
    EXPECT_EQ(listens.get_future().wait_for(20s), std::future_status::ready);
    store->on_hear_requests({});
}

}  // namespace
}  // namespace holdfast::session
