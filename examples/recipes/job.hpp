// An ordinary job on several machines, such as a nightly report: one of them does it, and while the store is
// away nobody does. The job notes that it ran, so a second run of the same day does nothing.
#pragma once

#include "database.hpp"

#include <holdfast/holdfast.hpp>

#include <functional>
#include <string>

namespace recipes {

inline void create_runs(database& shop) {
    shop.run(
        "CREATE TABLE IF NOT EXISTS runs (job VARCHAR(200) NOT NULL, day VARCHAR(20) NOT NULL, "
        "PRIMARY KEY (job, day))");
}

// The second line: the note is written with what the job changes.
inline bool run_once_a_day(database& shop, const std::string& job, const std::string& day,
                           const std::function<void(database&)>& work) {
    transaction all{shop};
    try {
        shop.run("INSERT INTO runs (job, day) VALUES ($1, $2)", job, day);
    } catch (const database::duplicate&) {
        return false;
    }
    work(shop);
    all.commit();
    return true;
}

// False: another machine does it, or has done it, or the store is away.
inline bool run_nightly(holdfast::client& locks, database& shop, const std::string& job,
                        const std::string& day, const std::function<void(database&)>& work) {
    holdfast::mutex turn{locks, "job:" + job};  // renewed while the job runs
    std::error_code why;
    const auto held = turn.try_acquire(why);
    return held && run_once_a_day(shop, job, day, work);
}

}  // namespace recipes
