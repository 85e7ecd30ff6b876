#include "backends/sqlite/url.hpp"

#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <filesystem>

namespace holdfast::sqlite_backend {

namespace {

[[noreturn]] void refuse(const std::string& why) {
    throw error(make_error_code(errc::invalid_argument), "sqlite: " + why);
}

std::string decoded(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            plain += text[i];
            continue;
        }
        std::string hex{text.substr(i + 1, 2)};
        for (auto& c : hex)
            if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
        const auto byte = hex.size() == 2 ? base::from_hex(hex) : std::string{};
        if (byte.empty())
            refuse("a '%' in the path is followed by two hexadecimal digits, as in %3F for '?'");
        plain += byte;
        i += 2;
    }
    return plain;
}

}  // namespace

url parse_url(std::string_view text) {
    constexpr std::string_view scheme = "sqlite:";
    auto rest = text.substr(scheme.size());
    if (rest.starts_with("//") && !rest.starts_with("///"))
        refuse("the path follows the colon, as in sqlite:/var/lib/app/locks.db; there is no host");
    const auto question = rest.find('?');
    auto options = question == std::string_view::npos ? std::string_view{} : rest.substr(question + 1);
    url to;
    const auto path = decoded(rest.substr(0, question));
    if (path.empty() || path.find('\0') != std::string::npos)
        refuse("the URL needs the path of a database file, as in sqlite:/var/lib/app/locks.db");
    if (path == ":memory:")
        refuse(
            "a database in memory is seen by one connection only; use local: for the threads of a process");
    while (!options.empty()) {
        const auto end = options.find('&');
        const auto one = options.substr(0, end);
        options = end == std::string_view::npos ? std::string_view{} : options.substr(end + 1);
        if (one == "same_kernel=yes")
            to.same_kernel = true;
        else if (one != "same_kernel=no")
            refuse("the option \"" + base::printable(one.substr(0, 64)) +
                   "\" is unknown; there is same_kernel=yes");
    }
    to.path = std::filesystem::absolute(path).lexically_normal().string();
    return to;
}

}  // namespace holdfast::sqlite_backend
