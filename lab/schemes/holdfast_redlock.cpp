// holdfast::mutex on several independent servers: most of them must grant it. Then the same with a fence.
#include "lab/schemes/schemes.hpp"

#include <holdfast/client.hpp>
#include <holdfast/error.hpp>
#include <holdfast/fence_check.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/redlock.hpp>

namespace holdfast::lab {

namespace {

struct holdfast_redlock : scheme {
    explicit holdfast_redlock(performer& by, const mutex_options& how = {})
        : scheme(by),
          locks{config{.url = redlock_url(own_part().urls(), {.node_timeout = ttl / 4}), .lease = ttl}},
          turn{locks, key, how} {}

    void lock() override {
        while (!(held = try_lock())) stop("before_retry");
    }

    lease try_lock() {
        try {
            return turn.try_acquire();
        } catch (const error& why) {
            if (why.code() == condition::misuse) throw;
            say("gets no reply from most servers in time");
            return {};
        }
    }

    void unlock() override {
        say(held.release() == release_outcome::released ? "release(): released" : "release(): already_lost");
    }

    void unwind() override { held = {}; }

    std::optional<boot_clock::time_point> holds_until() const override { return held.deadline(); }

    client locks;
    mutex turn;
    lease held;
};

struct holdfast_redlock_fenced final : holdfast_redlock {
    explicit holdfast_redlock_fenced(performer& by) : holdfast_redlock(by, {.fenced = true}) {}

    bool write() override {
        return send_to_resource("EVAL", redis_fenced_set, 2, "resource", "resource:fence",
                                to_text(held.fence()), "written by " + own_part().name) == 1;
    }
};

}  // namespace

std::unique_ptr<scheme> make_holdfast_redlock(performer& by) {
    return std::make_unique<holdfast_redlock>(by);
}
std::unique_ptr<scheme> make_holdfast_redlock_fenced(performer& by) {
    return std::make_unique<holdfast_redlock_fenced>(by);
}

}  // namespace holdfast::lab
