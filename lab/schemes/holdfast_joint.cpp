// holdfast::mutex on a joint store: Redis, and a database in its place when an operator says so. An arbiter
// keeps which of them the locks need, and a client that cannot ask it holds no lock for longer than its mode
// lease.
#include "lab/schemes/schemes.hpp"

#include <holdfast/admin.hpp>
#include <holdfast/client.hpp>
#include <holdfast/error.hpp>
#include <holdfast/mutex.hpp>

namespace holdfast::lab {

namespace {

struct holdfast_joint final : scheme {
    explicit holdfast_joint(performer& by) : scheme(by) {}

    void lock() override {
        while (!(held = try_lock())) stop("before_retry");
    }

    lease try_lock() {
        try {
            const auto mode = admin::mode(locks);  // to show it: the client knows the mode by itself
            say(mode.uses_only(0)   ? "knows the mode: a lock needs Redis"
                : mode.uses_only(1) ? "knows the mode: a lock needs the database"
                                    : "knows the mode: a lock needs Redis and the database");
            stop("after_mode");
            return turn.try_acquire();
        } catch (const error& why) {
            if (why.code() == condition::misuse) throw;
            say("cannot ask the arbiter, or the store that the lock needs");
            return {};
        }
    }

    void unlock() override {
        say(held.release() == release_outcome::released ? "release(): released" : "release(): already_lost");
    }

    void unwind() override { held = {}; }

    std::optional<boot_clock::time_point> holds_until() const override { return held.deadline(); }

    client locks{config{.url = own_part().joint_url(), .lease = ttl, .answer_timeout = ttl}};
    mutex turn{locks, key};
    lease held;
};

}  // namespace

std::unique_ptr<scheme> make_holdfast_joint(performer& by) { return std::make_unique<holdfast_joint>(by); }

}  // namespace holdfast::lab
