// Work that has its effect once, however often it is asked for: the row in `done` is written in the
// transaction of the effect, so there is one or none of both. The lock only spares a second one the wait for
// the first.
#pragma once

#include "database.hpp"

#include <holdfast/holdfast.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace recipes {

inline void create_done(database& shop) {
    shop.run("CREATE TABLE IF NOT EXISTS done (request VARCHAR(200) PRIMARY KEY, result TEXT NOT NULL)");
}

using effect = std::function<std::string(database&)>;  // changes the database, returns the result

// The second line.
inline std::string do_once(database& shop, const std::string& request, const effect& work) {
    transaction all{shop};
    try {
        // A second holder waits here until the first has committed or rolled back.
        shop.run("INSERT INTO done (request, result) VALUES ($1, '')", request);
    } catch (const database::duplicate&) {
        all.roll_back();
        return shop.find("SELECT result FROM done WHERE request = $1", request).value();
    }
    auto result = work(shop);
    shop.run("UPDATE done SET result = $2 WHERE request = $1", request, result);
    all.commit();
    return result;
}

// Empty: another process works on this request at the moment.
inline std::optional<std::string> handle(holdfast::client& locks, database& shop, const std::string& request,
                                         const effect& work) {
    using namespace std::chrono_literals;
    holdfast::mutex turn{locks, "request:" + request, {.ttl = 30s}};
    const auto held = turn.try_acquire();
    if (!held) return std::nullopt;
    return do_once(shop, request, work);
}

}  // namespace recipes
