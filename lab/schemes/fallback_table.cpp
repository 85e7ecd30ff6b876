// Degradation to another distributed lock: if Redis cannot be reached, a row of a table replaces it.
#include "lab/schemes/schemes.hpp"

namespace holdfast::lab {

namespace {

struct fallback_table final : scheme {
    using scheme::scheme;

    static constexpr auto compare_and_delete = R"(
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0)";

    // now_ms() is the clock of the database.
    static constexpr auto take_row = R"(
INSERT INTO distributed_lock VALUES (?1, ?2, now_ms() + ?3)
ON CONFLICT (lock_key) DO UPDATE SET owner = excluded.owner, expire_time = excluded.expire_time
WHERE expire_time < now_ms())";

    void lock() override {
        for (int tries = 0; tries < 3; ++tries) {
            try {
                while (send("SET", key, owner, "NX", "PX", ttl).nil()) stop("before_retry");
                return;
            } catch (const connection_broken&) {  // the article waits 100 ms here
            }
        }
        say("cannot reach Redis, and uses the table");
        degraded = true;
        while (ask_table(take_row, key, owner, ttl).rows == 0) stop("before_retry");
    }

    void unlock() override {
        if (degraded) {
            ask_table("DELETE FROM distributed_lock WHERE lock_key = ?1 AND owner = ?2", key, owner);
        } else {
            send("EVAL", compare_and_delete, 1, key, owner);
        }
    }

    bool degraded = false;
};

}  // namespace

std::unique_ptr<scheme> make_fallback_table(performer& by) { return std::make_unique<fallback_table>(by); }

}  // namespace holdfast::lab
