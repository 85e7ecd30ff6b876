// The URL of a store at a path of this machine: "SCHEME:PATH?option=value&option=value".
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::backends {

// In PATH, %XX is the byte XX, for a '?' or '%' in a name.
struct path_url {
    std::string path;  // as it was written, without the escapes; empty if there is none
    std::vector<std::pair<std::string, std::string>> options{};
};

// `example` completes errors: "sqlite:/var/lib/app/locks.db". Throws holdfast::error
// (errc::invalid_argument).
[[nodiscard]] path_url parse_path_url(std::string_view text, std::string_view example);

// For a mistake in the URL of the store `scheme`.
[[noreturn]] void refuse_url(std::string_view scheme, const std::string& why);
// For an option or a value that the store does not have; `there_is` names those that it has.
[[noreturn]] void refuse_option(std::string_view scheme, const std::pair<std::string, std::string>& option,
                                std::string_view there_is);

// Starts at the working directory of this moment if it is relative.
[[nodiscard]] std::string absolute_path(const std::string& path);

}  // namespace holdfast::backends
