#include <holdfast/admin.hpp>

#include "api/access.hpp"
#include "api/look.hpp"
#include "backends/registry.hpp"
#include "base/clock.hpp"

namespace holdfast {

namespace {

// Listing takes a round trip for each page.
constexpr int answers_to_list = 30;
// Some requests depend on others, and servers are found by asking servers.
constexpr int answers_to_examine = 10;

// `stepped` is how far the clock was set during the examination.
finding of_this_machine(std::chrono::microseconds stepped) {
    const bool set = stepped != std::chrono::microseconds{0};
    const auto by =
        base::to_text(std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::abs(stepped)));
    return {
        "own-clock",
        set ? severity::warning : severity::ok,
        "this machine",
        set ? "its clock was set " + std::string{stepped.count() > 0 ? "forwards" : "back"} + " by " + by +
                  " meanwhile"
            : "its clock was not set meanwhile",
        "Leases are measured by another clock, which this does not change. But whatever sets this clock in "
        "steps may do so on the servers, where a step within a lease ends it early or late. Offsets measured "
        "just now are wrong.",
        set ? "Let NTP (chrony) slew and not step, and look again." : "",
        promise::none};
}

}  // namespace

lock_info admin::inspect(client& on, const lock_name& name) {
    return detail::look<lock_info>(
        *detail::access::state_of(on), detail::answers_to_inspect,
        "inspecting \"" + name.printable() + "\" failed", [&](auto& there, auto until, auto done) {
            there.inspect(name, backend::holders_shown::some, until, std::move(done));
        });
}

std::vector<lock_info> admin::list(client& on, const std::string& glob, listed which) {
    return detail::look<std::vector<lock_info>>(
        *detail::access::state_of(on), answers_to_list, "listing \"" + base::printable(glob) + "\" failed",
        [&](auto& there, auto until, auto done) { there.list(glob, which, until, std::move(done)); });
}

examination admin::examine(client& on, const examine_options& options) {
    const auto& settings = detail::access::state_of(on)->settings;
    const auto drift = std::chrono::duration_cast<std::chrono::milliseconds>(settings.lease * settings.drift);
    const backend::examine_request wanted{options.name, options.kind, settings.lease,
                                          drift + settings.margin};
    const base::step_watch own_clock;
    auto all = detail::look<examination>(
        *detail::access::state_of(on), answers_to_examine, "the store cannot be examined",
        [&](auto& there, auto until, auto done) { there.examine(wanted, until, std::move(done)); });
    if (!all.servers.empty()) all.findings.push_back(of_this_machine(own_clock.stepped()));
    return all;
}

std::string admin::schema(const std::string& url) { return backends::schema_for(url); }

admin::pin_plan admin::plan_pin(const config& settings, std::size_t level) {
    return backends::plan_pin(settings, level);
}

}  // namespace holdfast
