// Rows of measurements: floor and subjects take turns in one run, and a result is a ratio between them.
#pragma once

#include "support/redis_server.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::bench {

using test::redis_server;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

// The CPUs of server and clients. A wake-up across CPUs costs many times one on the same CPU, and without a
// rule the scheduler changes between the two for minutes at a time.
enum class placement {
    anywhere,  // as the scheduler likes: for rows that fill all CPUs
    split,     // server on the first CPU, clients on the others: the nearest to a network on one machine
    same,      // server and clients on one CPU: the least noise, the shortest round trip
};

// One turn of one side.
struct sample {
    double value = 0;                      // in the row's unit
    std::map<std::string, double> extras;  // what else was counted: "commands per acquisition"
};

// A floor or a subject. `run` takes about `span`, checks what it measured, and throws if locks did not
// exclude, counters do not add up or something is left behind.
struct side {
    std::string name;
    std::function<sample(milliseconds span)> run;
};

// What a row demands of a subject. Rows that only show have none.
struct target {
    enum class kind { ratio_at_most, ratio_at_least, extra_at_most, extra_at_least, shown };
    std::string subject;
    kind what = kind::shown;
    double limit = 0;
    std::string extra{};  // for the kinds that check one
};

class row {
  public:
    row() = default;
    row(const row&) = delete;
    row& operator=(const row&) = delete;
    virtual ~row() = default;

    // The first is the floor.
    std::vector<side> sides;
    std::vector<target> targets;
};

// A row's name, its description, and how to set it up. The server is fresh and belongs to the row.
struct row_plan {
    std::string name;
    std::string title;
    std::string unit;  // "pairs/s"; for "us", less is better
    placement where = placement::anywhere;
    std::function<std::unique_ptr<row>(redis_server&)> set_up;
    // Why this machine cannot run the row, which is then left out; empty if it can.
    std::function<std::string()> missing = [] { return std::string{}; };
};

[[nodiscard]] const std::vector<row_plan>& all_rows();
// Against the lock libraries of other languages, which tests/interop/fetch.sh has fetched.
[[nodiscard]] const std::vector<row_plan>& peer_rows();

// Binds the calling thread and all it starts from now on, and `server` with all its threads, to their CPUs.
void place(placement, pid_t server);

struct run_options {
    const std::vector<row_plan>* plans = &all_rows();
    int rounds = 5;
    milliseconds span{400};         // of one turn
    std::vector<std::string> rows;  // empty: all
    std::string where{};            // overrides the rows' placement: "anywhere", "split", "same"
    bool json = false;
};
// 0: all targets reached; 1: one was missed; 64: no such row.
int run_rows(const run_options&);

}  // namespace holdfast::bench
