// A row in a table, by the database's clock only; an upsert that does not take the lock writes nothing.
#include "lab/schemes/schemes.hpp"

namespace holdfast::lab {

namespace {

struct table_clock final : scheme {
    using scheme::scheme;

    static constexpr auto upsert = R"(
INSERT INTO distributed_lock VALUES (?1, ?2, now_ms() + ?3)
ON CONFLICT (lock_key) DO UPDATE SET owner = excluded.owner, expire_time = excluded.expire_time
WHERE expire_time < now_ms())";

    void lock() override {
        while (ask_table(upsert, key, owner, ttl).rows == 0) stop("before_retry");
    }

    void unlock() override {
        ask_table("DELETE FROM distributed_lock WHERE lock_key = ?1 AND owner = ?2", key, owner);
    }
};

}  // namespace

std::unique_ptr<scheme> make_table_clock(performer& by) { return std::make_unique<table_clock>(by); }

}  // namespace holdfast::lab
