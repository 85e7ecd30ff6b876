// All schemes, by name.
#pragma once

#include "lab/scheme.hpp"

#include <span>
#include <string_view>

namespace holdfast::lab {

struct known_scheme {
    std::string_view name;
    std::string_view what;    // for people: what it sends
    std::string_view source;  // the text of its file
    std::unique_ptr<scheme> (*make)(performer& by);
};

[[nodiscard]] std::span<const known_scheme> all_schemes();
// nullptr if there is none of this name.
[[nodiscard]] const known_scheme* find_scheme(std::string_view name);

std::unique_ptr<scheme> make_bronze(performer& by);
std::unique_ptr<scheme> make_silver(performer& by);
std::unique_ptr<scheme> make_gold(performer& by);
std::unique_ptr<scheme> make_platinum(performer& by);
std::unique_ptr<scheme> make_diamond(performer& by);
std::unique_ptr<scheme> make_counter(performer& by);
std::unique_ptr<scheme> make_counter_lua(performer& by);
std::unique_ptr<scheme> make_redisson(performer& by);
std::unique_ptr<scheme> make_holdfast_mutex(performer& by);
std::unique_ptr<scheme> make_holdfast_recursive(performer& by);
std::unique_ptr<scheme> make_holdfast_fenced(performer& by);

}  // namespace holdfast::lab
