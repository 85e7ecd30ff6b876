// A row in a table: after the upsert the program reads the row's owner.
#include "lab/schemes/schemes.hpp"

namespace holdfast::lab {

namespace {

struct table_reread final : scheme {
    using scheme::scheme;

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
        ask_table(upsert, key, owner, expires);
        const auto row = ask_table("SELECT owner FROM distributed_lock WHERE lock_key = ?1", key);
        return !row.columns.empty() && row.columns[0] == owner;
    }

    void unlock() override {
        ask_table("DELETE FROM distributed_lock WHERE lock_key = ?1 AND owner = ?2", key, owner);
    }
};

}  // namespace

std::unique_ptr<scheme> make_table_reread(performer& by) { return std::make_unique<table_reread>(by); }

}  // namespace holdfast::lab
