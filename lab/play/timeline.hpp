// A record as lanes: one for what each process believes, one for each place where the lock is kept.
#pragma once

#include "lab/play/record.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::lab {

// The axis counts changes and not time: what matters takes a millisecond, and the waiting between takes
// hundreds. So two runs of a schedule give the same picture. Between two changes, and between a change and
// the beginning of a step, lies one unit.
struct column {
    int number = 0;  // of the step, counted from 1
    std::string text;
    instant from{};
    std::size_t first = 0;  // its units
    std::size_t units = 0;
};

struct stretch {
    std::size_t from = 0;  // in units: [from, to)
    std::size_t to = 0;
    std::string who;         // believes it holds the lock, or owns the key
    bool contested = false;  // while another believes it too

    friend bool operator==(const stretch&, const stretch&) = default;
};

struct lane {
    std::string name;  // of the process, or of the place
    std::vector<stretch> stretches;
    std::vector<stretch> waits;       // the process wants the lock
    std::vector<stretch> stills;      // it stood still
    std::vector<std::size_t> deaths;  // it ended before this unit
};

struct timeline {
    std::size_t units = 0;
    std::vector<column> columns;
    std::vector<lane> beliefs;  // in the order of the names
    std::vector<lane> places;
};

[[nodiscard]] timeline drawn(const record& of);

}  // namespace holdfast::lab
