// An examination as people and programs read it.
#pragma once

#include <holdfast/examination.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace holdfast::cli {

enum class detail : std::uint8_t {
    all,         // also what is well, in a line
    wrong_only,  // what has to be looked after
};

// Grouped by severity, the worst first, in lines of `width` columns. A command to be copied is never broken.
[[nodiscard]] std::string described(const examination& of, detail how_much, std::size_t width);

// {"worst", "servers": [...], "findings": [...]}: docs/doctor.md.
[[nodiscard]] nlohmann::ordered_json to_json(const examination& of);

}  // namespace holdfast::cli
