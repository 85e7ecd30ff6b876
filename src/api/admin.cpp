#include <holdfast/admin.hpp>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "session/ask.hpp"
#include "session/core.hpp"

namespace holdfast {

namespace {

// Looking takes several round trips, listing one for each page; each is given the time of one answer.
constexpr int answers_to_inspect = 4;
constexpr int answers_to_list = 30;
// Some depend on others, and servers are found by asking servers.
constexpr int answers_to_examine = 10;

template <class T, class Send>
T look(client& on, int answers, const std::string& failed, Send send) {
    auto& core = *on.session();
    core.check_usable();
    const auto until = boot_clock::now() + core.settings.answer_timeout * answers;
    auto got = session::ask<backend::result<T>>(
        core.store(), until, [&](auto handler) { send(core.store(), until, std::move(handler)); });
    if (!got) throw error(errc::unavailable, failed + ": no answer came");
    if (const auto* no = std::get_if<backend::failure>(&*got)) {
        const auto why = no->text.empty() ? std::string{} : ": " + base::printable(no->text);
        throw error(no->code, failed + why, no->server_text);
    }
    return std::get<T>(std::move(*got));
}

// Set by so much while the servers were looked at.
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
            : "nobody set its clock meanwhile",
        "Leases are measured by another clock and do not mind. But whatever sets this one in steps may do so "
        "on "
        "the servers, where a step within a lease ends it early or late; and offsets measured just now are "
        "wrong.",
        set ? "Let NTP (chrony) slew and not step, and look again." : "",
        promise::none};
}

}  // namespace

lock_info inspect(client& on, const lock_name& name) {
    return look<lock_info>(
        on, answers_to_inspect, "inspecting \"" + name.printable() + "\" failed",
        [&](auto& store, auto until, auto done) { store.inspect(name, until, std::move(done)); });
}

std::vector<lock_info> list(client& on, const std::string& glob) {
    return look<std::vector<lock_info>>(
        on, answers_to_list, "listing \"" + base::printable(glob) + "\" failed",
        [&](auto& store, auto until, auto done) { store.list(glob, until, std::move(done)); });
}

bool evict(client& on, const lock_name& name) {
    const auto& core = on.session();
    return look<bool>(on, answers_to_inspect, "evicting \"" + name.printable() + "\" failed",
                      [&](auto& store, auto until, auto done) {
                          if (auto no = core->objection_to(name)) return done(*std::move(no));
                          store.evict(name, until, std::move(done));
                      });
}

examination examine(client& on, const examine_options& options) {
    const auto& settings = on.session()->settings;
    const auto drift = std::chrono::duration_cast<std::chrono::milliseconds>(settings.lease * settings.drift);
    const backend::examine_request wanted{options.name, options.kind, settings.lease,
                                          drift + settings.margin};
    const base::step_watch own_clock;
    auto all = look<examination>(
        on, answers_to_examine, "the store cannot be examined",
        [&](auto& store, auto until, auto done) { store.examine(wanted, until, std::move(done)); });
    if (!all.servers.empty()) all.findings.push_back(of_this_machine(own_clock.stepped()));
    return all;
}

}  // namespace holdfast
