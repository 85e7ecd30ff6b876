// Degradation to a local lock: if Redis cannot be reached, a mutex of this process replaces it. Then the same
// as the article's code does it, which takes "somebody else has it" for "Redis cannot be reached".
#include "lab/schemes/schemes.hpp"

#include <mutex>

namespace holdfast::lab {

namespace {

struct fallback_local : scheme {
    using scheme::scheme;

    static constexpr auto compare_and_delete = R"(
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0)";

    void lock() override {
        for (int tries = 0; tries < 3; ++tries) {
            try {
                while (send("SET", key, owner, "NX", "PX", ttl).nil()) stop("before_retry");
                return;
            } catch (const connection_broken&) {  // the article waits 100 ms here
            }
        }
        say("cannot reach Redis, and takes a lock of its process");
        degraded = std::unique_lock{in_this_process};
    }

    void unlock() override {
        if (degraded.owns_lock()) return degraded.unlock();
        send("EVAL", compare_and_delete, 1, key, owner);
    }

    std::mutex in_this_process;
    std::unique_lock<std::mutex> degraded;
};

struct fallback_local_busy final : fallback_local {
    using fallback_local::fallback_local;

    void lock() override {
        for (int tries = 0; tries < 3; ++tries) {
            try {
                if (send("SET", key, owner, "NX", "PX", ttl) == "OK") return;
                break;  // the comment says to return here; the code only leaves the loop
            } catch (const connection_broken&) {
            }
        }
        say("has no lock in Redis, and takes a lock of its process");
        degraded = std::unique_lock{in_this_process};
    }
};

}  // namespace

std::unique_ptr<scheme> make_fallback_local(performer& by) { return std::make_unique<fallback_local>(by); }
std::unique_ptr<scheme> make_fallback_local_busy(performer& by) {
    return std::make_unique<fallback_local_busy>(by);
}

}  // namespace holdfast::lab
