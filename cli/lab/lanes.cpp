#include "cli/lab/lanes.hpp"

#include "cli/lab/texts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace holdfast::lab {

namespace {

using cli::colour;

constexpr std::size_t margin = 9;  // for the names of the lanes
constexpr std::size_t widest_unit = 6;
constexpr std::size_t width_of_a_file = 80;

// A text below each step, if there is room.
std::string under_steps(const timeline& lanes, std::size_t unit, auto text_of) {
    std::string out;
    for (const auto& one : lanes.columns) {
        const auto text = text_of(one);
        const auto width = one.units * unit;
        out += fmt::format("{:<{}}", text.size() < width ? text : "", width);
    }
    return out;
}

// The units of a lane, each written `width` times as `shown` shows it.
std::string cells(const lane& of, std::size_t units, std::size_t width, const std::string& nothing,
                  auto shown) {
    std::vector<std::string> each(units, nothing);
    for (const auto& one : of.waits) {
        for (auto i = one.from; i < one.to; ++i) each[i] = "-";
    }
    for (const auto& one : of.stretches) {
        for (auto i = one.from; i < one.to; ++i) each[i] = shown(one);
    }
    std::string out;
    for (const auto& one : each) {
        for (std::size_t i = 0; i < width; ++i) out += one;
    }
    return out;
}

}  // namespace

std::string as_text(const timeline& lanes, const cli::page* on, show_times times) {
    const auto painted = [&](const std::string& text, colour in) {
        return on != nullptr ? on->painted(text, in) : text;
    };
    const bool coloured = on != nullptr && on->colours();
    const std::string bar = coloured && on->unicode() ? "\u2588" : "=";
    const auto room = (on != nullptr ? on->width() : width_of_a_file) - margin;
    const auto unit = std::clamp<std::size_t>(room / lanes.units, 1, widest_unit);

    std::string out;
    const auto line = [&](const std::string& head, const std::string& text, colour in = colour::none) {
        const auto whole = fmt::format("{:>{}}  {}", head, margin - 2, text);
        out += painted(whole.substr(0, whole.find_last_not_of(' ') + 1), in) + "\n";
    };
    line("step", under_steps(lanes, unit, [](const column& one) { return std::to_string(one.number); }),
         colour::faint);
    for (const auto& one : lanes.beliefs) {
        line(one.name, cells(one, lanes.units, unit, " ", [&](const stretch& part) {
                 if (!part.contested) return painted(bar, colour::good);
                 return painted(coloured ? bar : "X", colour::bad);
             }));
    }
    for (const auto& one : lanes.places) {
        line(one.name, cells(one, lanes.units, unit, painted(".", colour::faint),
                             [](const stretch& part) { return part.who; }));
    }
    if (times == show_times::yes) {
        line("ms", under_steps(lanes, unit, [](const column& one) { return milliseconds_of(one.from); }),
             colour::faint);
    }
    return out;
}

}  // namespace holdfast::lab
