// Cache breakdown: when the entry of a popular article expires, one process reads it anew and the others wait
// for it, instead of all of them asking the database at once. Check, lock, check again, load.
#pragma once

#include "database.hpp"

#include <holdfast/holdfast.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace recipes {

inline void create_cache(database& cache) {
    cache.run(
        "CREATE TABLE IF NOT EXISTS cache (name VARCHAR(200) PRIMARY KEY, value TEXT NOT NULL, "
        "expires BIGINT NOT NULL)");
}

using clock = std::chrono::system_clock;

inline std::int64_t in_ms(clock::time_point t) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(t.time_since_epoch()).count();
}

inline std::optional<std::string> cached(database& cache, const std::string& name) {
    return cache.find("SELECT value FROM cache WHERE name = $1 AND expires > $2", name, in_ms(clock::now()));
}

// The entry is replaced as a whole.
inline void put(database& cache, const std::string& name, const std::string& value,
                clock::time_point expires) {
    if (cache.run("UPDATE cache SET value = $2, expires = $3 WHERE name = $1", name, value, in_ms(expires)) ==
        1)
        return;
    try {
        cache.run("INSERT INTO cache (name, value, expires) VALUES ($1, $2, $3)", name, value,
                  in_ms(expires));
    } catch (const database::duplicate&) {  // a second holder has put it there: as good as this one
    }
}

// A holder too many only loads once more.
inline std::string get(holdfast::client& locks, database& cache, const std::string& name,
                       std::chrono::milliseconds keep, const std::function<std::string()>& load) {
    using namespace std::chrono_literals;
    if (auto found = cached(cache, name)) return *found;
    holdfast::mutex turn{locks, "cache:" + name, {.ttl = 10s}};
    std::error_code away;
    const auto held = turn.try_acquire_for(2s, away);  // without the lock, a late answer is better than none
    if (held)
        if (auto found = cached(cache, name)) return *found;  // loaded while this one waited
    auto value = load();
    put(cache, name, value, clock::now() + keep);
    return value;
}

}  // namespace recipes
