#include "chaos/runner/precautions.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace holdfast::chaos {

namespace {

constexpr std::pair<std::string_view, precautions> names[] = {{"", precautions::left_out},
                                                              {"brief_step", precautions::brief_step},
                                                              {"ignored_lease", precautions::ignored_lease},
                                                              {"plain_read", precautions::plain_read}};

}  // namespace

precautions precautions_of(std::string_view name) {
    std::string known;
    for (const auto& [its_name, which] : names) {
        if (its_name == name) return which;
        if (!its_name.empty()) known += " " + std::string{its_name};
    }
    throw std::runtime_error{"nothing is called \"" + std::string{name} +
                             "\" that could be left out; there are:" + known};
}

std::string_view to_string(precautions care) noexcept {
    for (const auto& [its_name, which] : names)
        if (which == care) return its_name;
    return {};
}

}  // namespace holdfast::chaos
