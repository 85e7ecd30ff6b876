// What the URL of a store says about where the store is.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::base {

// The URL without user, password and options. Two URLs with the same place name the same store, and the place
// may be shown to people.
[[nodiscard]] inline std::string store_place(std::string_view url) {
    url = url.substr(0, url.find('?'));
    const auto scheme = url.find("://");
    const auto at = url.rfind('@');
    if (scheme == std::string_view::npos || at == std::string_view::npos || at < scheme)
        return std::string{url};
    return std::string{url.substr(0, scheme + 3)} + std::string{url.substr(at + 1)};
}

// The URL with "***" for its password.
[[nodiscard]] inline std::string url_without_password(std::string_view url) {
    const auto head = url.substr(0, url.find('?'));
    auto options = url.substr(head.size());
    std::string shown{head};
    const auto scheme = head.find("://");
    const auto at = head.rfind('@');
    if (scheme != std::string_view::npos && at != std::string_view::npos && at > scheme) {
        const auto colon = head.find(':', scheme + 3);
        if (colon < at) shown = std::string{head.substr(0, colon)} + ":***" + std::string{head.substr(at)};
    }
    while (!options.empty()) {
        const auto option = options.substr(0, options.find('&', 1));
        constexpr std::string_view secret = "password=";
        shown += option.substr(1).starts_with(secret) ? option.substr(0, 1 + secret.size()) : option;
        if (option.substr(1).starts_with(secret)) shown += "***";
        options.remove_prefix(option.size());
    }
    return shown;
}

}  // namespace holdfast::base
