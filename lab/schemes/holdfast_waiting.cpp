// holdfast::recursive_mutex; a refused caller waits in acquire(): it sleeps until it is woken.
#include "lab/schemes/schemes.hpp"

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

namespace holdfast::lab {

namespace {

struct holdfast_waiting final : scheme {
    explicit holdfast_waiting(performer& by) : scheme(by) {}

    void lock() override {
        if ((held = turn.try_acquire())) return;
        stop("before_retry");
        held = turn.acquire();
    }

    void unlock() override {
        say(held.release() == release_outcome::released ? "release(): released" : "release(): already_lost");
    }

    void unwind() override { held = {}; }

    std::optional<boot_clock::time_point> holds_until() const override { return held.deadline(); }

    client locks{config{.url = own_part().url(), .lease = ttl}};
    recursive_mutex turn{locks, key};
    lease held;
};

}  // namespace

std::unique_ptr<scheme> make_holdfast_waiting(performer& by) {
    return std::make_unique<holdfast_waiting>(by);
}

}  // namespace holdfast::lab
