#include "redis/config/url_text.hpp"

#include "base/text.hpp"

#include <holdfast/error.hpp>

namespace holdfast::redis {

void reject_url(const std::string& sentence) {
    throw error(errc::invalid_argument, "Redis URL: " + sentence);
}

std::string quoted(std::string_view text) { return "\"" + base::printable(text) + "\""; }

std::chrono::milliseconds duration_of(std::string_view option, std::string_view text) {
    const auto d = base::parse_duration(text);
    if (!d) reject_url(std::string{option} + "=" + quoted(text) + ' ' + base::why_no_duration(text) + '.');
    if (d->count() <= 0) reject_url(std::string{option} + "=" + quoted(text) + " is not above zero.");
    if (*d > std::chrono::hours{24})
        reject_url(std::string{option} + "=" + quoted(text) + " is longer than a day.");
    return *d;
}

}  // namespace holdfast::redis
