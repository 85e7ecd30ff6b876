#include "backends/joint/pin.hpp"

#include "backends/joint/mode.hpp"
#include "backends/joint/url.hpp"

#include <holdfast/error.hpp>

#include <string>

namespace holdfast::joint_backend {

admin::pin_plan plan_pin(const config& settings, std::size_t level) {
    auto of = parse_url(settings.url);
    if (level >= of.levels.size())
        throw error(errc::invalid_argument, "the group has " + std::to_string(of.levels.size()) +
                                                " levels, and no level " + std::to_string(level + 1));
    of.pin = level;
    // A client that was forgotten, or stands still, may use the mode of the arbiter for as long as between
    // two modes.
    const auto wait = shortest_joint_mode(of.mode_lease, of.max_skew, {settings.drift, settings.margin});
    return {of.group, of.levels[level].place, std::chrono::ceil<milliseconds>(wait), of.shown()};
}

}  // namespace holdfast::joint_backend
