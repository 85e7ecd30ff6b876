// admin::mode, admin::switch_mode, admin::use_two_levels and admin::set_automatic.
#include "api/access.hpp"
#include "api/mode_author.hpp"
#include "base/clock.hpp"
#include "base/text.hpp"
#include "session/blocking_call.hpp"
#include "store/mode_switch.hpp"

#include <holdfast/admin.hpp>
#include <holdfast/error.hpp>

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast {

namespace {

using admin::group_mode;
using admin::mode_author;
using std::chrono::milliseconds;

constexpr milliseconds pause_between_asks{100};

backend::mode_switch& switch_of(session::client_state& state) {
    state.check_usable();
    if (auto* const found = state.store().as_mode_switch()) return *found;
    throw error(errc::invalid_argument, "only a joint: URL has a mode");
}

// Empty: no answer came, or none that counts.
template <class Send>
std::optional<backend::result<admin::group_mode>> ask(session::client_state& state, Send send) {
    const auto until = boot_clock::now() + state.settings.answer_timeout;
    return session::blocking_call<backend::result<admin::group_mode>>(
        state, until, [&](auto handler) { send(until, std::move(handler)); });
}

[[noreturn]] void fail(const std::string& what, const backend::failure& why) {
    throw error(why.code, what + ": " + (why.text.empty() ? why.code.message() : base::printable(why.text)),
                why.server_text);
}

backend::result<admin::group_mode> read(session::client_state& state, backend::mode_switch& there) {
    auto got = ask(state, [&](auto until, auto done) { there.read_mode(until, std::move(done)); });
    if (got) return *std::move(got);
    return backend::failure{make_error_code(errc::unavailable), "the arbiter did not answer", {}};
}

bool is_automatic(const admin::group_mode& mode) { return mode.automation && mode.automation->on; }

bool has_same_automation(const group_mode& a, const group_mode& b) {
    if (!a.automation || !b.automation) return a.automation.has_value() == b.automation.has_value();
    return a.automation->on == b.automation->on && a.automation->when == b.automation->when &&
           a.automation->author.pid == b.automation->author.pid;
}

// What one call has asked the arbiter for. An answer may come too late, and then it has to be told from the
// changes of others.
class own_changes {
  public:
    own_changes(const std::string& by, const std::string& reason)
        : author_(detail::author_of_this_process(by, reason)) {}

    // No two changes of this process have the same moment.
    [[nodiscard]] backend::change_signature next() {
        static std::atomic<std::int64_t> latest{0};
        auto before = latest.load();
        std::int64_t now = 0;
        do now = std::max(base::wall_microseconds() / 1'000, before + 1);
        while (!latest.compare_exchange_weak(before, now));
        sent_.push_back(now);
        return {author_, now};
    }
    [[nodiscard]] bool has(std::chrono::system_clock::time_point when, const mode_author& author) const {
        const auto at = std::chrono::duration_cast<milliseconds>(when.time_since_epoch()).count();
        return author.pid == author_.pid && std::ranges::find(sent_, at) != sent_.end();
    }
    // Says no if an operator was faster, not if it was the group itself, or an earlier request of this call.
    [[nodiscard]] bool may_go_on(const group_mode& before, const group_mode& after) const {
        if (after.automation && has(after.automation->when, after.automation->author)) return true;
        if (after.epoch != before.epoch && !after.history.empty() &&
            has(after.history.back().when, after.history.back().author))
            return true;
        // The first use of a group is no change.
        const bool is_same =
            std::max<std::uint64_t>(after.epoch, 1) == std::max<std::uint64_t>(before.epoch, 1);
        return has_same_automation(before, after) && (is_same || is_automatic(after));
    }

  private:
    const mode_author author_;
    std::vector<std::int64_t> sent_;
};

const backend::failure& another_operator() {
    static const backend::failure why{make_error_code(errc::lost), "another client has changed the mode", {}};
    return why;
}

// What became of a request without a good answer. Throws if the arbiter does not answer for so long.
group_mode look_again(session::client_state& state, backend::mode_switch& there,
                      boot_clock::time_point give_up, const std::string& what, backend::failure why) {
    for (;;) {
        if (boot_clock::now() >= give_up) fail(what + " in time", why);
        std::this_thread::sleep_for(pause_between_asks);
        auto got = read(state, there);
        if (auto* const no = std::get_if<backend::failure>(&got))
            why = std::move(*no);
        else
            return std::get<group_mode>(std::move(got));
    }
}

}  // namespace

admin::mode_author detail::author_of_this_process(std::string by, std::string reason) {
    admin::mode_author author{.by = std::move(by), .reason = std::move(reason), .pid = ::getpid()};
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) == 0) author.host = host.data();
    if (!author.by.empty()) return author;
    passwd entry{};
    passwd* found = nullptr;
    std::array<char, 4096> room{};
    ::getpwuid_r(::getuid(), &entry, room.data(), room.size(), &found);
    author.by = found != nullptr ? found->pw_name : std::to_string(::getuid());
    return author;
}

admin::group_mode admin::mode(client& on) {
    auto& state = *detail::access::state_of(on);
    auto got = read(state, switch_of(state));
    if (const auto* const no = std::get_if<backend::failure>(&got)) fail("the mode is not known", *no);
    return std::get<group_mode>(std::move(got));
}

admin::group_mode admin::set_automatic(client& on, bool is_on, const switch_options& options) {
    auto& state = *detail::access::state_of(on);
    auto& there = switch_of(state);
    const auto give_up = boot_clock::now() + options.wait;
    const std::string what = "the automation of the mode is not changed";
    own_changes own{options.by, options.reason};
    auto now = mode(on);  // a client that has just begun does not know what it would change
    for (;;) {
        const auto got = ask(
            state, [&](auto until, auto done) { there.automate(is_on, own.next(), until, std::move(done)); });
        const backend::failure silent{make_error_code(errc::unavailable), "the arbiter did not answer", {}};
        const auto* const no = got ? std::get_if<backend::failure>(&*got) : &silent;
        if (no == nullptr) return std::get<group_mode>(*got);
        if (no->code == condition::misuse) fail(what, *no);
        const auto before = std::exchange(now, look_again(state, there, give_up, what, *no));
        if (now.automation && own.has(now.automation->when, now.automation->author)) return now;
        if (!own.may_go_on(before, now)) fail(what, another_operator());
    }
}

namespace {

// What an operator wants the mode to be, and one step towards it.
struct goal {
    std::function<std::vector<std::size_t>(const group_mode& from)> levels;  // that it needs in the end
    std::function<bool(const group_mode&)> is_reached;
    std::function<void(backend::mode_switch&, const group_mode& from, const backend::change_signature&,
                       boot_clock::time_point until, backend::handler<backend::result<group_mode>>)>
        step;
};

// The level in use and its neighbour, as mode_switch::step_towards_two().
std::vector<std::size_t> two_levels(const group_mode& from) {
    if (from.needed.size() != 1) return from.needed;
    const auto used = from.needed.front();
    return {used, used + 1 < from.levels.size() ? used + 1 : used - 1};
}

// Why the level grants no locks now. No answer in time means none, too.
std::optional<backend::failure> try_level(session::client_state& state, backend::mode_switch& there,
                                          std::size_t level) {
    const auto until = boot_clock::now() + state.settings.answer_timeout;
    const auto got = session::blocking_call<std::optional<backend::failure>>(
        state, until, [&](auto handler) { there.try_level(level, until, std::move(handler)); });
    if (got) return *got;
    return backend::failure{make_error_code(errc::unavailable), "it does not answer", {}};
}

// Throws at once if nothing has been changed yet. A change under way waits for the level until `give_up`:
// with two levels in use each lock needs both.
void check_level(session::client_state& state, backend::mode_switch& there, const group_mode& now,
                 std::size_t level, bool has_begun, boot_clock::time_point give_up) {
    constexpr milliseconds pause{200};
    auto why = try_level(state, there, level);
    while (why && has_begun && boot_clock::now() + pause < give_up) {
        std::this_thread::sleep_for(pause);
        why = try_level(state, there, level);
    }
    if (!why) return;
    const auto begun = has_begun ? "the change has stopped, and each lock needs " +
                                       std::to_string(now.needed.size()) + " levels now: "
                                 : std::string{"the mode is not changed: "};
    throw error(errc::unavailable,
                begun + "level " + std::to_string(level + 1) + ", " + now.levels.at(level) +
                    ", grants no locks now: " +
                    (why->text.empty() ? why->code.message() : base::printable(why->text)) +
                    "; switch_options::force (switch: --force) goes on, a change to another level goes back",
                why->server_text);
}

group_mode change_by_hand(client& on, const admin::switch_options& options, const goal& to) {
    auto& state = *detail::access::state_of(on);
    auto& there = switch_of(state);
    const auto give_up = boot_clock::now() + options.wait;
    own_changes own{options.by, options.reason};
    auto now = admin::mode(on);
    const auto from = now;
    const auto take = [&](group_mode&& next) {
        const bool is_new = next.epoch != now.epoch;
        now = std::move(next);
        if (is_new && options.on_step) options.on_step(now);
    };
    while (!to.is_reached(now) || is_automatic(now)) {
        if (to.is_reached(now)) {  // but would not stay there
            now = admin::set_automatic(on, false, options);
            continue;
        }
        if (now.must_last > milliseconds{0}) {
            if (boot_clock::now() + now.must_last > give_up)
                throw error(errc::timed_out, "the mode must last for another " +
                                                 base::to_text(now.must_last) + ", longer than the wait");
            std::this_thread::sleep_for(now.must_last);
        }
        if (!options.force)
            for (const auto level : to.levels(now))
                check_level(state, there, now, level, now.epoch > from.epoch && now.needed.size() > 1,
                            give_up);
        auto got = ask(
            state, [&](auto until, auto done) { to.step(there, now, own.next(), until, std::move(done)); });
        if (got && std::holds_alternative<group_mode>(*got)) {
            take(std::get<group_mode>(*std::move(got)));
            continue;
        }
        const backend::failure silent{make_error_code(errc::unavailable), "the arbiter did not answer", {}};
        const auto& no = got ? std::get<backend::failure>(*got) : silent;
        if (no.code == condition::misuse) fail("the mode is not changed", no);
        auto after = look_again(state, there, give_up, "the mode is not changed", no);
        if (!own.may_go_on(now, after)) fail("the mode is not changed", another_operator());
        take(std::move(after));
    }
    return now;
}

}  // namespace

admin::group_mode admin::switch_mode(client& on, std::size_t level, const switch_options& options) {
    const auto levels = mode(on).levels.size();
    if (level >= levels)
        throw error(errc::invalid_argument, "the group has the levels 0 to " + std::to_string(levels - 1) +
                                                ", and no level " + std::to_string(level));
    return change_by_hand(
        on, options,
        {.levels = [level](const group_mode&) { return std::vector{level}; },
         .is_reached = [level](const group_mode& m) { return m.uses_only(level); },
         .step = [level](auto& there, auto& from, auto& author, auto until,
                         auto done) { there.step_towards(level, from, author, until, std::move(done)); }});
}

admin::group_mode admin::use_two_levels(client& on, const switch_options& options) {
    return change_by_hand(
        on, options,
        {.levels = two_levels,
         .is_reached = [](const group_mode& m) { return m.settled; },
         .step = [](auto& there, auto& from, auto& author, auto until,
                    auto done) { there.step_towards_two(from, author, until, std::move(done)); }});
}

}  // namespace holdfast
