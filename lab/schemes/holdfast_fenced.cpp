// holdfast::mutex with a fence: every grant carries a number greater than all before it, and the resource
// refuses a write with an older one.
#include "lab/schemes/schemes.hpp"

#include <holdfast/client.hpp>
#include <holdfast/fence_check.hpp>
#include <holdfast/mutex.hpp>

namespace holdfast::lab {

namespace {

struct holdfast_fenced final : scheme {
    explicit holdfast_fenced(performer& by) : scheme(by) {}

    void lock() override {
        while (!(held = turn.try_acquire())) stop("before_retry");
    }

    bool write() override {
        return send_to_resource("EVAL", redis_fenced_set, 2, "resource", "resource:fence",
                                to_text(held.fence()), "written by " + own_part().name) == 1;
    }

    void unlock() override {
        say(held.release() == release_outcome::released ? "release(): released" : "release(): already_lost");
    }

    void unwind() override { held = {}; }

    std::optional<boot_clock::time_point> holds_until() const override { return held.deadline(); }

    client locks{config{.url = own_part().url(), .lease = ttl}};
    mutex turn{locks, key, {.fenced = true}};
    lease held;
};

}  // namespace

std::unique_ptr<scheme> make_holdfast_fenced(performer& by) { return std::make_unique<holdfast_fenced>(by); }

}  // namespace holdfast::lab
