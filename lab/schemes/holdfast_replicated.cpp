// holdfast::mutex with .replicas: a grant counts when a replica has it too; otherwise it is undone.
#include "lab/schemes/schemes.hpp"

#include <holdfast/client.hpp>
#include <holdfast/error.hpp>
#include <holdfast/mutex.hpp>

namespace holdfast::lab {

namespace {

struct holdfast_replicated final : scheme {
    explicit holdfast_replicated(performer& by) : scheme(by) {}

    void lock() override {
        while (!(held = try_lock())) stop("before_retry");
    }

    lease try_lock() {
        try {
            return turn.try_acquire();
        } catch (const error& why) {
            if (why.code() != errc::not_replicated) throw;
            say("gets not_replicated: no replica has the lock, so it does not hold it");
            return {};
        }
    }

    void unlock() override {
        say(held.release() == release_outcome::released ? "release(): released" : "release(): already_lost");
    }

    void unwind() override { held = {}; }

    std::optional<boot_clock::time_point> holds_until() const override { return held.deadline(); }

    client locks{config{.url = own_part().url(), .lease = ttl}};
    mutex turn{locks, key, {.replicas = replication::majority_of(2)}};
    lease held;
};

}  // namespace

std::unique_ptr<scheme> make_holdfast_replicated(performer& by) {
    return std::make_unique<holdfast_replicated>(by);
}

}  // namespace holdfast::lab
