#include "backends/file/url.hpp"

#include "backends/common/path_url.hpp"

namespace holdfast::file_backend {

url parse_url(std::string_view text) {
    constexpr std::string_view scheme = "file";
    constexpr std::string_view example = "file:/run/lock/app";
    const auto parts = backends::parse_path_url(text, example);
    if (parts.path.empty())
        backends::refuse_url(scheme, "the URL needs the path of a directory, as in " + std::string{example});
    url to;
    for (const auto& option : parts.options) {
        const auto& [name, value] = option;
        if (name == "same_kernel" && (value == "yes" || value == "no"))
            to.same_kernel = value == "yes";
        else if (name == "children" && (value == "let_go" || value == "hold_on"))
            to.started = value == "hold_on" ? children::hold_on : children::let_go;
        else
            backends::refuse_option(scheme, option, "same_kernel=yes and children=hold_on");
    }
    to.directory = backends::absolute_path(parts.path);
    while (to.directory.size() > 1 && to.directory.back() == '/') to.directory.pop_back();
    return to;
}

}  // namespace holdfast::file_backend
