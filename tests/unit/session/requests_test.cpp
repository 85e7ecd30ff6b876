// When a client begins to listen for messages that ask for its locks.
#include "unit/session/told_store.hpp"

#include <future>

namespace holdfast::session {
namespace {

class a_client_that_may_be_asked : public with_told_store {};

TEST_F(a_client_that_may_be_asked, hears_of_a_lease_that_begins_while_it_looks_at_the_others) {
    std::promise<void> looks, begins, heard;
    std::atomic<bool> looked{false}, told{false};
    store->on_hear_requests([&, begun = begins.get_future().share()](const lock_name& name) {
        if (name == lock_name{"first"} && !looked.exchange(true)) {
            looks.set_value();
            begun.wait();
        }
        if (name == lock_name{"second"} && !told.exchange(true)) heard.set_value();
    });
    const auto first = lock_of(backend::kind::native, "first")->acquire({});
    looks.get_future().wait();
    const auto got = lock_of(backend::kind::native, "second")->acquire({});
    begins.set_value();
    EXPECT_EQ(heard.get_future().wait_for(20s), std::future_status::ready);
    store->on_hear_requests({});
}

}  // namespace
}  // namespace holdfast::session
