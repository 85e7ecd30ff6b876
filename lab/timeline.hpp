// A record as lanes of cells: one lane for what each process believes, one for whose the key is.
#pragma once

#include "lab/record.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::lab {

// The axis is cut at the steps of the story, and each step gets the same width: what matters takes a
// millisecond, and the waiting between takes hundreds.
struct column {
    int number = 0;  // of the step, counted from 1
    instant from{};
    std::string text;
};

enum class cell {
    nothing,
    alone,   // believes to hold the lock, and nobody else does; or owns the key
    beside,  // believes it while another does
};

struct lane {
    std::string who;  // of the key's lane: empty
    std::vector<cell> cells;
    std::vector<std::string> owner;  // of the key's lane: per cell
};

struct timeline {
    std::vector<column> columns;
    std::size_t width = 0;  // of each column, in cells
    std::vector<lane> beliefs;
    lane key;
};

// Lanes in the order of the names. A span has one cell at least, however short it was.
[[nodiscard]] timeline drawn(const record& of, std::size_t width);

}  // namespace holdfast::lab
