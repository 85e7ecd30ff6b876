#include <holdfast/admin.hpp>

#include "base/text.hpp"
#include "session/ask.hpp"
#include "session/core.hpp"

namespace holdfast {

namespace {

// Looking takes several round trips, listing one for each page; each is given the time of one answer.
constexpr int answers_to_inspect = 4;
constexpr int answers_to_list = 30;

template <class T, class Send>
T look(client& on, int answers, const std::string& doing, Send send) {
    auto& core = *on.session();
    core.check_usable();
    const auto until = boot_clock::now() + core.settings.answer_timeout * answers;
    auto got = session::ask<backend::result<T>>(
        core.store(), until, [&](auto handler) { send(core.store(), until, std::move(handler)); });
    if (!got) throw error(errc::unavailable, "no answer came while " + doing);
    if (const auto* no = std::get_if<backend::failure>(&*got)) {
        throw error(no->code, "the store refused while " + doing, no->text);
    }
    return std::get<T>(std::move(*got));
}

}  // namespace

lock_info inspect(client& on, const lock_name& name) {
    return look<lock_info>(
        on, answers_to_inspect, "inspecting \"" + name.printable() + "\"",
        [&](auto& store, auto until, auto done) { store.inspect(name, until, std::move(done)); });
}

std::vector<lock_info> list(client& on, const std::string& glob) {
    return look<std::vector<lock_info>>(
        on, answers_to_list, "listing \"" + base::printable(glob) + "\"",
        [&](auto& store, auto until, auto done) { store.list(glob, until, std::move(done)); });
}

bool evict(client& on, const lock_name& name) {
    return look<bool>(on, answers_to_inspect, "evicting \"" + name.printable() + "\"",
                      [&](auto& store, auto until, auto done) { store.evict(name, until, std::move(done)); });
}

}  // namespace holdfast
