// Histories in files: those of single processes, and a whole one that is kept to be looked at later.
#pragma once

#include "chaos/history/event.hpp"

#include <filesystem>
#include <vector>

namespace holdfast::chaos {

// What a recorder has written, in its order. The process may be gone, or still write.
// Throws std::runtime_error if this is no such file, or if the recorder had no room for all.
[[nodiscard]] std::vector<event> read_events(const std::filesystem::path& file);

// Puts the events of all processes in one order, by time. Of events of one time those of one process keep
// their order.
[[nodiscard]] std::vector<event> merge(const std::vector<std::vector<event>>& processes);

// Both throw std::runtime_error.
void save(const history& h, const std::filesystem::path& file);
[[nodiscard]] history load(const std::filesystem::path& file);

// For people: a line for each event and each fault, by time.
void write_lines(const history& h, const std::filesystem::path& file);

}  // namespace holdfast::chaos
