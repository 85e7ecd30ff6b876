#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/config_file.hpp"

namespace holdfast::cli {

namespace {

std::vector<config> read_each(const std::string& config_file, const std::vector<std::string>& urls) {
    const auto wanted = config_file.empty() ? config{} : read_config(plain(config_file));
    if (urls.empty()) return {wanted};
    std::vector<config> each;
    for (const auto& url : urls) {
        each.push_back(wanted);
        each.back().url = plain(url);
    }
    return each;
}

}  // namespace

config context::settings_with_policies() const {
    if (urls.size() > 1)
        throw usage_error("give only one --url; for a lock on several servers use redlock:URL,URL,URL");
    return read_each(config_file, urls).front();
}

config context::settings() const {
    auto wanted = settings_with_policies();
    wanted.policies.clear();
    wanted.switch_source.clear();
    return wanted;
}

std::vector<config> context::settings_each() const {
    auto each = read_each(config_file, urls);
    for (auto& one : each) {
        one.policies.clear();
        one.switch_source.clear();
    }
    return each;
}

store_choice context::store() const {
    const auto url = settings_each().front().url;
    if (urls.empty() && url == config{}.url) return store_choice::by_default;
    return store_of(url);
}

}  // namespace holdfast::cli
