// Money. The lock fails closed: no transfer while it cannot be had. And the database refuses a holder whose
// lock is no longer his: by the fence, in the transaction of the transfer. The ledger has each step once.
#pragma once

#include "database.hpp"

#include <holdfast/fence_check.hpp>
#include <holdfast/holdfast.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

namespace recipes {

inline void create_accounts(database& bank) {
    bank.run(
        "CREATE TABLE IF NOT EXISTS accounts (name VARCHAR(100) PRIMARY KEY, "
        "cents BIGINT NOT NULL CHECK (cents >= 0))");
    bank.run(
        "CREATE TABLE IF NOT EXISTS ledger (account VARCHAR(100) NOT NULL, seq BIGINT NOT NULL, "
        "cents BIGINT NOT NULL, UNIQUE (account, seq))");
    bank.run(holdfast::sql_fence_table);
}

enum class transferred { yes, not_enough, refused /* a newer holder was here */, busy };

struct transfer {
    std::string from, to;
    std::int64_t cents = 0;
};

// The second line.
inline transferred book(database& bank, const transfer& of, holdfast::fence by) {
    transaction all{bank};
    const std::string resource = "accounts:" + std::min(of.from, of.to) + ':' + std::max(of.from, of.to);
    if (!bank.check_fence(resource, static_cast<std::int64_t>(holdfast::to_number(by))))
        return transferred::refused;
    // In the order of their names, so that transfers of other pairs cannot wait for each other.
    bank.query("SELECT cents FROM accounts WHERE name IN ($1, $2) ORDER BY name" + bank.for_update(), of.from,
               of.to);
    if (bank.run("UPDATE accounts SET cents = cents - $2 WHERE name = $1 AND cents >= $2", of.from,
                 of.cents) != 1)
        return transferred::not_enough;
    bank.run("UPDATE accounts SET cents = cents + $2 WHERE name = $1", of.to, of.cents);
    for (const auto& [account, cents] : {std::pair{of.from, -of.cents}, std::pair{of.to, of.cents}})
        bank.run(
            "INSERT INTO ledger (account, seq, cents) SELECT $1, coalesce(max(seq), 0) + 1, $2 FROM ledger "
            "WHERE account = $1",
            account, cents);
    all.commit();
    return transferred::yes;
}

inline transferred move_money(holdfast::client& locks, database& bank, const transfer& of) {
    using namespace std::chrono_literals;
    // One lock for the pair, in one order: transfers in both directions meet on it.
    holdfast::mutex turn{
        locks, "accounts:" + std::min(of.from, of.to) + ':' + std::max(of.from, of.to), {.fenced = true}};
    const auto held = turn.try_acquire_for(5s);
    if (!held) return transferred::busy;
    return book(bank, of, held.fence());
}

}  // namespace recipes
