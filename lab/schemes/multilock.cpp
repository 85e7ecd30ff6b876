// MultiLock: the lock is taken on all of several independent servers, or on none.
#include "lab/schemes/schemes.hpp"

namespace holdfast::lab {

namespace {

struct multilock final : scheme {
    using scheme::scheme;

    static constexpr auto compare_and_delete = R"(
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0)";

    void lock() override {
        while (!try_lock()) stop("before_retry");
    }

    bool try_lock() {
        for (std::size_t i = 0; i < servers(); ++i) {
            if (take(i)) continue;
            unlock();
            return false;
        }
        return true;
    }

    bool take(std::size_t server) {
        try {
            return send_to(server, "SET", key, owner, "NX", "PX", ttl) == "OK";
        } catch (const command_failed&) {
            return false;
        }
    }

    void unlock() override {
        for (std::size_t i = 0; i < servers(); ++i) {
            try {
                send_to(i, "EVAL", compare_and_delete, 1, key, owner);
            } catch (const command_failed&) {  // the TTL frees it
            }
        }
    }
};

}  // namespace

std::unique_ptr<scheme> make_multilock(performer& by) { return std::make_unique<multilock>(by); }

}  // namespace holdfast::lab
