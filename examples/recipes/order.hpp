// Order creation. A user who clicks twice, or whose client repeats a request, gets one order: the lock saves
// the second attempt its work, the unique keys refuse it. So the lock may fail open.
#pragma once

#include "database.hpp"

#include <holdfast/holdfast.hpp>

#include <chrono>
#include <string>

namespace recipes {

inline void create_orders(database& shop) {
    shop.run(
        "CREATE TABLE IF NOT EXISTS orders (order_no VARCHAR(40) UNIQUE NOT NULL, user_id VARCHAR(40) NOT "
        "NULL, "
        "request_id VARCHAR(40) NOT NULL, UNIQUE (user_id, request_id))");
}

struct order_request {
    std::string user;
    std::string id;  // made by the caller, the same in each repetition
};

// The second line. Returns the number of the order, also if it was there before.
inline std::string insert_order(database& shop, const order_request& of, const std::string& order_no) {
    try {
        shop.run("INSERT INTO orders (order_no, user_id, request_id) VALUES ($1, $2, $3)", order_no, of.user,
                 of.id);
        return order_no;
    } catch (const database::duplicate&) {
        return shop.find("SELECT order_no FROM orders WHERE user_id = $1 AND request_id = $2", of.user, of.id)
            .value();
    }
}

// Empty: the same user's order is being made at this moment.
inline std::optional<std::string> create_order(holdfast::client& locks, database& shop,
                                               const order_request& of, const std::string& order_no) {
    using namespace std::chrono_literals;
    holdfast::mutex turn{locks, "order:" + of.user, {.ttl = 10s}};
    const auto held = turn.try_acquire();
    if (!held) return std::nullopt;
    if (auto before =
            shop.find("SELECT order_no FROM orders WHERE user_id = $1 AND request_id = $2", of.user, of.id))
        return before;
    return insert_order(shop, of, order_no);
}

}  // namespace recipes
