// Files of events of single processes, and of whole histories that are kept for later.
#pragma once

#include "chaos/history/event.hpp"

#include <filesystem>
#include <vector>

namespace holdfast::chaos {

// Returns the events of a recorder, in its order. Its process may have ended or may still write. Throws
// std::runtime_error if this is no such file, or if the recorder had no room for all events.
[[nodiscard]] std::vector<event> read_events(const std::filesystem::path& file);

// Merges the events of all processes by time. Events of one process keep their order.
[[nodiscard]] std::vector<event> merge(const std::vector<std::vector<event>>& processes);

// Both throw std::runtime_error.
void save(const history& h, const std::filesystem::path& file);
[[nodiscard]] history load(const std::filesystem::path& file);

// Writes a line for each event and each fault, by time, for people.
void write_lines(const history& h, const std::filesystem::path& file);

}  // namespace holdfast::chaos
