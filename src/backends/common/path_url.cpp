#include "backends/common/path_url.hpp"

#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <filesystem>

namespace holdfast::backends {

namespace {

std::string decoded(std::string_view scheme, std::string_view text) {
    auto plain = base::percent_decoded(text);
    if (!plain)
        refuse_url(scheme, "a '%' in the path is followed by two hexadecimal digits, as in %3F for '?'");
    if (plain->find('\0') != std::string::npos) refuse_url(scheme, "the path contains a NUL byte");
    return *std::move(plain);
}

}  // namespace

void refuse_url(std::string_view scheme, const std::string& why) {
    throw error(make_error_code(errc::invalid_argument), std::string{scheme} + ": " + why);
}

void refuse_option(std::string_view scheme, const std::pair<std::string, std::string>& option,
                   std::string_view there_is) {
    const auto text = option.first + (option.second.empty() ? "" : "=") + option.second;
    refuse_url(scheme, "the option \"" + base::printable(text.substr(0, 64)) + "\" is unknown; there is " +
                           std::string{there_is});
}

path_url parse_path_url(std::string_view text, std::string_view example) {
    const auto scheme = example.substr(0, example.find(':'));
    auto rest = text.substr(text.find(':') + 1);
    if (rest.starts_with("//") && !rest.starts_with("///"))
        refuse_url(scheme,
                   "the path follows the colon, as in " + std::string{example} + "; there is no host");
    const auto question = rest.find('?');
    path_url found{decoded(scheme, rest.substr(0, question))};
    auto options = question == std::string_view::npos ? std::string_view{} : rest.substr(question + 1);
    while (!options.empty()) {
        const auto end = options.find('&');
        const auto one = options.substr(0, end);
        options = end == std::string_view::npos ? std::string_view{} : options.substr(end + 1);
        const auto equals = one.find('=');
        found.options.emplace_back(one.substr(0, equals), equals == std::string_view::npos
                                                              ? std::string_view{}
                                                              : one.substr(equals + 1));
    }
    return found;
}

std::string absolute_path(const std::string& path) {
    return std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace holdfast::backends
