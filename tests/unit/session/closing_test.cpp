// What a client does with its leases when it closes.
#include "unit/session/scripted_store.hpp"

#include <algorithm>

namespace holdfast::session {
namespace {

class closing_client : public with_scripted_store {};

TEST_F(closing_client, releases_no_lock_while_a_lease_looks_valid) {
    constexpr int leases = 2'000;
    std::vector<std::shared_ptr<hold>> held;
    held.reserve(leases);
    for (int i = 0; i < leases; ++i) {
        const auto got = lock_of(backend::kind::native, std::to_string(i))->acquire({});
        held.push_back(std::get<std::shared_ptr<hold>>(got));
    }
    std::atomic<int> releases{0};
    std::atomic<std::ptrdiff_t> valid_then{0};
    store->on_release([&] {
        if (releases++ > 0) return;
        valid_then = std::ranges::count_if(held, [](const auto& h) { return h->valid(); });
    });
    client->close();
    EXPECT_GT(releases, 0);
    EXPECT_EQ(valid_then, 0);
}

}  // namespace
}  // namespace holdfast::session
