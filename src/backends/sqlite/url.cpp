#include "backends/sqlite/url.hpp"

#include "backends/common/path_url.hpp"

namespace holdfast::sqlite_backend {

url parse_url(std::string_view text) {
    constexpr std::string_view scheme = "sqlite";
    constexpr std::string_view example = "sqlite:/var/lib/app/locks.db";
    const auto parts = backends::parse_path_url(text, example);
    if (parts.path.empty())
        backends::refuse_url(scheme,
                             "the URL needs the path of a database file, as in " + std::string{example});
    if (parts.path == ":memory:")
        backends::refuse_url(
            scheme,
            "a database in memory is seen by one connection only; use local: for the threads of a process");
    url to;
    for (const auto& option : parts.options) {
        if (option.first != "same_kernel" || (option.second != "yes" && option.second != "no"))
            backends::refuse_option(scheme, option, "same_kernel=yes");
        to.same_kernel = option.second == "yes";
    }
    to.path = backends::absolute_path(parts.path);
    return to;
}

}  // namespace holdfast::sqlite_backend
