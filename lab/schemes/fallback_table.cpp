// Degradation to another distributed lock: if Redis cannot be reached, a row of a table replaces it. Then the
// same by a flag that a configuration centre pushes to each process.
#include "lab/schemes/schemes.hpp"

#include <fstream>

namespace holdfast::lab {

namespace {

struct fallback_table : scheme {
    using scheme::scheme;

    static constexpr auto compare_and_delete = R"(
if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end
return 0)";

    // now_ms() is the clock of the database.
    static constexpr auto upsert = R"(
INSERT INTO distributed_lock VALUES (?1, ?2, now_ms() + ?3)
ON CONFLICT (lock_key) DO UPDATE SET owner = excluded.owner, expire_time = excluded.expire_time
WHERE expire_time < now_ms())";

    void lock() override {
        for (int tries = 0; tries < 3; ++tries) {
            try {
                return take_key();
            } catch (const connection_broken&) {  // the article waits 100 ms here
            }
        }
        say("cannot reach Redis, and uses the table");
        take_row();
    }

    void unlock() override {
        if (degraded) {
            ask_table("DELETE FROM distributed_lock WHERE lock_key = ?1 AND owner = ?2", key, owner);
        } else {
            send("EVAL", compare_and_delete, 1, key, owner);
        }
    }

    void take_key() {
        while (send("SET", key, owner, "NX", "PX", ttl).nil()) stop("before_retry");
    }

    void take_row() {
        degraded = true;
        while (ask_table(upsert, key, owner, ttl).rows == 0) stop("before_retry");
    }

    bool degraded = false;
};

struct fallback_table_flag final : fallback_table {
    using fallback_table::fallback_table;

    void lock() override {
        const bool use_redis = pushed_flag();
        say(use_redis ? "reads the flag: use Redis" : "reads the flag: use the table");
        stop("after_mode");
        if (use_redis) return take_key();
        take_row();
    }

    // What the configuration centre has pushed to this process; true before that.
    static bool pushed_flag() {
        std::ifstream pushed{"distributed.lock.use-redis"};
        std::string value;
        return !(pushed >> value) || value == "true";
    }
};

}  // namespace

std::unique_ptr<scheme> make_fallback_table(performer& by) { return std::make_unique<fallback_table>(by); }
std::unique_ptr<scheme> make_fallback_table_flag(performer& by) {
    return std::make_unique<fallback_table_flag>(by);
}

}  // namespace holdfast::lab
