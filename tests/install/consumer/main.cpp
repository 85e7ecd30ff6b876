// Uses locks, leases, events and errors across the boundary of the library.
#include "shop.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/version.hpp>

#include <atomic>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <thread>

namespace {

void expect(bool as_it_should_be, const char* what) {
    if (!as_it_should_be) throw std::logic_error(what);
}

// An exception of the library is caught by its type, and its codes and conditions compare equal.
void expect_errors_to_arrive() {
    try {
        holdfast::client nowhere{"nonsense:"};
        expect(false, "a client with a nonsense URL");
    } catch (const holdfast::error& e) {
        expect(e.code() == holdfast::errc::invalid_argument, "its code");
        expect(e.code() == holdfast::condition::misuse, "its condition");
        expect(e.code().category() == holdfast::category(), "its category");
    }
    try {
        holdfast::lock_name nameless{""};
        expect(false, "a lock without a name");
    } catch (const std::system_error& e) {
        expect(dynamic_cast<const holdfast::error*>(&e) != nullptr, "its type");
    }
}

void expect_a_lease_to_be_exclusive(holdfast::client& locks) {
    holdfast::mutex lock{locks, "till"};
    const auto held = lock.try_acquire();
    expect(held.valid(), "a free lock");
    holdfast::mutex other{locks, "till"};
    expect(!other.try_acquire_for(std::chrono::milliseconds{1}), "a lock that is held");
    expect(holdfast::admin::inspect(locks, "till").holders.size() == 1, "its holder");
}

}  // namespace

int main() try {
    static_assert(HOLDFAST_VERSION_MAJOR == 0);
    holdfast::client locks{"local:"};
    expect_errors_to_arrive();
    expect_a_lease_to_be_exclusive(locks);

    shop open{locks, 1000};
    std::atomic sold = 0;
    const auto clerk = [&] {
        while (open.sell()) ++sold;
    };
    std::thread first{clerk};
    std::thread second{clerk};
    first.join();
    second.join();
    std::cout << "2 threads sold " << sold << " items, one at a time\n";
} catch (const std::exception& e) {
    std::cerr << "unexpected: " << e.what() << '\n';
    return 1;
}
