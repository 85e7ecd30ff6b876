// Writes an examination for people and for programs.
#pragma once

#include <holdfast/examination.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace holdfast::cli {

enum class detail : std::uint8_t {
    all,         // everything; what is well, in one line
    wrong_only,  // only what needs attention
};

// Findings by severity, the worst first, in lines of `width` columns. Does not break commands, which users
// copy.
[[nodiscard]] std::string described(const examination& of, detail how_much, std::size_t width);

// {"worst", "servers": [...], "findings": [...]}: docs/doctor.md.
[[nodiscard]] nlohmann::ordered_json to_json(const examination& of);

}  // namespace holdfast::cli
