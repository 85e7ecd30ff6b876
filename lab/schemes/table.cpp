// A row in a table: an upsert takes it if it is not there or has expired. The program counts the rows it
// wrote.
#include "lab/schemes/schemes.hpp"

namespace holdfast::lab {

namespace {

struct table final : scheme {
    using scheme::scheme;

    // now_ms() is the clock of the database. The article uses MySQL: NOW(), and ON DUPLICATE KEY UPDATE.
    static constexpr auto upsert = R"(
INSERT INTO distributed_lock (lock_key, owner, expire_time) VALUES (?1, ?2, ?3)
ON CONFLICT (lock_key) DO UPDATE SET
owner = iif(expire_time < now_ms(), excluded.owner, owner),
expire_time = iif(expire_time < now_ms(), excluded.expire_time, expire_time))";

    void lock() override {
        while (!try_lock()) stop("before_retry");
    }

    bool try_lock() {
        const auto expires = system_time() + ttl;
        return ask_table(upsert, key, owner, expires).rows > 0;
    }

    void unlock() override {
        ask_table("DELETE FROM distributed_lock WHERE lock_key = ?1 AND owner = ?2", key, owner);
    }
};

}  // namespace

std::unique_ptr<scheme> make_table(performer& by) { return std::make_unique<table>(by); }

}  // namespace holdfast::lab
