#include "cli/switch/pin.hpp"

#include "cli/arguments.hpp"
#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/format.hpp"

#include <holdfast/admin.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstddef>

namespace holdfast::cli {

int show_pin(const config& settings, const std::string& level, bool json) {
    if (level.empty()) throw usage_error("pin needs the number of a level");
    const auto number = decimal("LEVEL", level, 1, 8);
    const auto plan = admin::plan_pin(settings, static_cast<std::size_t>(number) - 1);
    if (json) {
        fmt::print("{}\n", one_line({{"group", json_text(plan.group)},
                                     {"level", number},
                                     {"place", json_text(plan.level)},
                                     {"wait_ms", plan.wait.count()},
                                     {"url", json_text(plan.url)}}));
        return exit_code::ok;
    }
    const auto wait = rough(plan.wait);
    fmt::print(R"(To use level {0}, {1}, without the arbiter:
  1. End all clients of the group "{2}", on all machines.
  2. Wait {3}, in case one was forgotten or stands still.
  3. Start them with this URL (with its passwords, where it shows ***):
     {4}
One client with another URL makes a second holder. Back to the arbiter, when it
works again: end them all, wait {3}, and start them without pin=.
This command has changed nothing.
)",
               number, plan.level, plan.group, wait, plan.url);
    return exit_code::ok;
}

}  // namespace holdfast::cli
