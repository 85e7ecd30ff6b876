// holdfast::recursive_mutex: Redisson's hash on the wire, held by a lease. A holder takes it again through
// its lease.
#include "lab/schemes/schemes.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <vector>

namespace holdfast::lab {

namespace {

struct holdfast_recursive final : scheme {
    explicit holdfast_recursive(performer& by) : scheme(by) {}

    void lock() override {
        if (!held.empty()) {
            held.push_back(turn.acquire(held.front()));
            return;
        }
        lease first;
        while (!(first = turn.try_acquire())) stop("before_retry");
        held.push_back(std::move(first));
    }

    void unlock() override {
        const auto outcome = held.back().release();
        held.pop_back();
        say(outcome == release_outcome::released ? "release(): released" : "release(): already_lost");
    }

    void unwind() override { held.clear(); }

    std::optional<boot_clock::time_point> holds_until() const override {
        return held.empty() ? boot_clock::now() : held.front().deadline();
    }

    client locks{config{.url = own_part().url(), .lease = ttl}};
    recursive_mutex turn{locks, key};
    std::vector<lease> held;
};

}  // namespace

std::unique_ptr<scheme> make_holdfast_recursive(performer& by) {
    return std::make_unique<holdfast_recursive>(by);
}

}  // namespace holdfast::lab
