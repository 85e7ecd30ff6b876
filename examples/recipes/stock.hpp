// Stock deduction. The lock keeps buyers of one article from meeting in the database and retrying; the
// version column keeps the number right, whoever holds the lock. So the lock may fail open.
#pragma once

#include "database.hpp"

#include <holdfast/holdfast.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace recipes {

inline void create_stock(database& shop) {
    shop.run(
        "CREATE TABLE IF NOT EXISTS stock (sku VARCHAR(40) PRIMARY KEY, "
        "qty BIGINT NOT NULL CHECK (qty >= 0), version BIGINT NOT NULL DEFAULT 0)");
}

enum class sold { yes, no_stock, somebody_was_faster };

// The second line: what was read decides, not who holds the lock.
inline sold deduct(database& shop, const std::string& sku, std::int64_t n) {
    const auto now = shop.query("SELECT qty, version FROM stock WHERE sku = $1", sku);
    if (now.empty() || std::stoll(now[0][0]) < n) return sold::no_stock;
    const int changed = shop.run(
        "UPDATE stock SET qty = qty - $2, version = version + 1 WHERE sku = $1 AND version = $3 AND qty >= "
        "$2",
        sku, n, std::stoll(now[0][1]));
    return changed == 1 ? sold::yes : sold::somebody_was_faster;
}

// The policy "stock" (on_outage::fail_open_process): sales go on while Redis is away.
inline sold sell(holdfast::client& locks, database& shop, const std::string& sku, std::int64_t n) {
    using namespace std::chrono_literals;
    holdfast::mutex turn{locks, "stock:" + sku, {.ttl = 10s}};
    const auto held = turn.try_acquire_for(2s);
    if (!held) return sold::somebody_was_faster;
    for (int tries = 0; tries < 5; ++tries)
        if (const auto end = deduct(shop, sku, n); end != sold::somebody_was_faster) return end;
    return sold::somebody_was_faster;
}

}  // namespace recipes
