#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/config_file.hpp"

namespace holdfast::cli {

config context::settings() const {
    if (urls.size() > 1)
        throw usage_error("give only one --url; for a lock on several servers use redlock:URL,URL,URL");
    return settings_each().front();
}

std::vector<config> context::settings_each() const {
    const auto wanted = config_file.empty() ? config{} : read_config(plain(config_file));
    if (urls.empty()) return {wanted};
    std::vector<config> each;
    for (const auto& url : urls) {
        each.push_back(wanted);
        each.back().url = plain(url);
    }
    return each;
}

store_choice context::store() const {
    const auto url = settings_each().front().url;
    if (urls.empty() && url == config{}.url) return store_choice::by_default;
    return store_of(url);
}

}  // namespace holdfast::cli
