#include "lab/rungs/moves.hpp"
#include "lab/rungs/rungs.hpp"

#include <array>

namespace holdfast::lab {

namespace {

using namespace std::chrono_literals;

bool rows_that_changed_nothing(director& d) {
    auto& a = d.start("A");
    auto& b = d.start("B");
    d.step("A takes the row");
    const auto asked = boot_clock::now();
    a.enters();
    d.step("B wants it, while A works");
    return gets_in_too(d, b, a, asked);
}

bool clock_of_a_client(director& d) {
    auto& a = d.start("A", {.clock_ahead = -61s});
    auto& b = d.start("B");
    d.step("The clock of A's machine is a minute behind. A takes the row");
    const auto asked = boot_clock::now();
    a.enters();
    d.step("B wants it, while A works");
    return gets_in_too(d, b, a, asked);
}

constexpr std::array table_schedules{
    schedule{
        .name = "rows",
        .flaw = "every client sees that a row was written",
        .play = rows_that_changed_nothing,
        .flawed = "table",
        .why = "The upsert leaves the row as it is, and still counts it: SQLite does so, and MySQL for Java "
               "programs unless useAffectedRows is set. rows > 0 is true for all.",
        .cure = "table_reread",
        .why_cured = "B checks whose row it is, finds A, and waits.",
        .ours = "holdfast_mutex",
        .why_ours = "Not a table: the server's answer names the holder or grants the lock.",
    },
    schedule{
        .name = "clock",
        .flaw = "a client whose clock is behind takes a lock that has already expired",
        .play = clock_of_a_client,
        .flawed = "table_reread",
        .why = "A wrote the expiry by its own clock, and the database compared it with another. For the "
               "database, A's lock had ended before it began.",
        .cure = "table_clock",
        .why_cured = "The client sets the duration, and only the database sets the end.",
        .ours = "holdfast_mutex",
        .why_ours = "It sends a duration, too, and measures its own lease by a clock that nobody sets.",
    },
};

}  // namespace

rung table_rung() {
    return {"table", "a row in the table distributed_lock, taken by an upsert",
            "A practical guide to Redis locks: degradation to other distributed locks (database)",
            table_schedules};
}

}  // namespace holdfast::lab
