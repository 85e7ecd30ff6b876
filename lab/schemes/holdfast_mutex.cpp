// holdfast::mutex: an owner token per acquisition, renewed while its holder lives, and a lease that knows its
// deadline.
#include "lab/schemes/schemes.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

namespace holdfast::lab {

namespace {

struct holdfast_mutex final : scheme {
    explicit holdfast_mutex(performer& by) : scheme(by) {}

    void lock() override {
        while (!(held = turn.try_acquire())) stop("before_retry");
    }

    void unlock() override {
        say(held.release() == release_outcome::released ? "release(): released" : "release(): already_lost");
    }

    void unwind() override { held = {}; }

    std::optional<boot_clock::time_point> holds_until() const override { return held.deadline(); }

    client locks{config{.url = own_part().url(), .lease = ttl}};
    mutex turn{locks, key};
    lease held;
};

}  // namespace

std::unique_ptr<scheme> make_holdfast_mutex(performer& by) { return std::make_unique<holdfast_mutex>(by); }

}  // namespace holdfast::lab
