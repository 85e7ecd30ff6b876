#include "cli/config_file.hpp"

#include "base/text.hpp"
#include "cli/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <variant>

namespace holdfast::cli {

namespace {

using std::chrono::milliseconds;

using setting = std::variant<std::string*, milliseconds*, double*, unsigned*, bool*, on_outage*>;

template <class Settings>
struct field {
    std::string_view key;
    setting (*in)(Settings& of);
};

constexpr std::array fields{
    field<config>{"url", [](config& of) -> setting { return &of.url; }},
    field<config>{"lease", [](config& of) -> setting { return &of.lease; }},
    field<config>{"renew_after", [](config& of) -> setting { return &of.renew_after; }},
    field<config>{"poll_gap", [](config& of) -> setting { return &of.poll_gap; }},
    field<config>{"redis.silent_poll", [](config& of) -> setting { return &of.redis.silent_poll; }},
    field<config>{"drift", [](config& of) -> setting { return &of.drift; }},
    field<config>{"margin", [](config& of) -> setting { return &of.margin; }},
    field<config>{"patience", [](config& of) -> setting { return &of.patience; }},
    field<config>{"local_turns", [](config& of) -> setting { return &of.local_turns; }},
    field<config>{"redis.fair_liveness", [](config& of) -> setting { return &of.redis.fair_liveness; }},
    field<config>{"redis.connections", [](config& of) -> setting { return &of.redis.connections; }},
    field<config>{"answer_timeout", [](config& of) -> setting { return &of.answer_timeout; }},
    field<config>{"close_timeout", [](config& of) -> setting { return &of.close_timeout; }},
    field<config>{"slow_callback", [](config& of) -> setting { return &of.slow_callback; }},
    field<config>{"switch.source", [](config& of) -> setting { return &of.switch_source; }},
    field<config>{"switch.group", [](config& of) -> setting { return &of.switch_group; }},
    field<config>{"program", [](config& of) -> setting { return &of.program; }},
};

// Written "policy.NAME.KEY = value".
constexpr std::array policy_fields{
    field<policy>{"match", [](policy& of) -> setting { return &of.match; }},
    field<policy>{"outage", [](policy& of) -> setting { return &of.outage; }},
    field<policy>{"tries", [](policy& of) -> setting { return &of.tries; }},
    field<policy>{"pause", [](policy& of) -> setting { return &of.pause; }},
    field<policy>{"lost_on_overlap", [](policy& of) -> setting { return &of.lost_on_overlap; }},
    field<policy>{"substitute", [](policy& of) -> setting { return &of.substitute; }},
};
constexpr std::string_view of_a_policy = "policy.";

constexpr std::array outages{std::pair{std::string_view{"fail_closed"}, on_outage::fail_closed},
                             std::pair{std::string_view{"switch_joint"}, on_outage::switch_joint},
                             std::pair{std::string_view{"fail_open_host"}, on_outage::fail_open_host},
                             std::pair{std::string_view{"fail_open_process"}, on_outage::fail_open_process}};

constexpr std::size_t largest_file = 1024 * 1024;

std::string_view trimmed(std::string_view s) {
    constexpr std::string_view blank = " \t\r";
    const auto first = s.find_first_not_of(blank);
    if (first == std::string_view::npos) return {};
    return s.substr(first, s.find_last_not_of(blank) - first + 1);
}

std::optional<double> parse_number(std::string_view s) {
    double value = 0;
    const auto [end, failed] = std::from_chars(s.data(), s.data() + s.size(), value);
    if (failed != std::errc{} || end != s.data() + s.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

// Returns what is wrong with the value, or an empty text.
std::string assign(const setting& target, std::string_view value) {
    if (auto* const* text = std::get_if<std::string*>(&target)) {
        **text = std::string{value};
        return {};
    }
    if (auto* const* time = std::get_if<milliseconds*>(&target)) {
        const auto parsed = base::parse_duration(value);
        if (!parsed) return base::why_no_duration(value);
        **time = *parsed;
        return {};
    }
    if (auto* const* yes = std::get_if<bool*>(&target)) {
        if (value != "yes" && value != "no") return "must be yes or no";
        **yes = value == "yes";
        return {};
    }
    if (auto* const* outage = std::get_if<on_outage*>(&target)) {
        const auto* const it = std::ranges::find(outages, value, [](const auto& one) { return one.first; });
        if (it == outages.end())
            return "must be fail_closed, switch_joint, fail_open_host or fail_open_process";
        **outage = it->second;
        return {};
    }
    const auto parsed = parse_number(value);
    if (!parsed) return "is not a number";
    if (auto* const* share = std::get_if<double*>(&target)) {
        **share = *parsed;
        return {};
    }
    if (*parsed < 0 || *parsed > 1'000'000 || *parsed != std::floor(*parsed)) return "is not a whole number";
    *std::get<unsigned*>(target) = static_cast<unsigned>(*parsed);
    return {};
}

// Users of other configuration files expect that quotes around a value are allowed.
std::optional<std::string_view> without_quotes(std::string_view s) {
    if (s.empty() || (s.front() != '"' && s.front() != '\'')) return s;
    if (s.size() < 2 || s.find(s.front(), 1) != s.size() - 1) return std::nullopt;
    return s.substr(1, s.size() - 2);
}

std::string known_keys() {
    std::string all;
    for (const auto& f : fields) all.append(f.key).append(", ");
    for (const auto& f : policy_fields)
        all.append(&f == &policy_fields.front() ? "" : ", ").append("policy.NAME.").append(f.key);
    return all;
}

// The place of a key's value; empty: there is no such key.
std::optional<setting> place_of(config& settings, std::string_view key) {
    if (!key.starts_with(of_a_policy)) {
        const auto* const it = std::ranges::find(fields, key, &field<config>::key);
        return it == fields.end() ? std::nullopt : std::optional{it->in(settings)};
    }
    key.remove_prefix(of_a_policy.size());
    const auto dot = key.rfind('.');  // a name may have dots
    if (dot == std::string_view::npos || dot == 0) return std::nullopt;
    const auto* const it = std::ranges::find(policy_fields, key.substr(dot + 1), &field<policy>::key);
    if (it == policy_fields.end()) return std::nullopt;
    const auto name = key.substr(0, dot);
    auto of = std::ranges::find(settings.policies, name, &policy::name);
    if (of == settings.policies.end()) of = settings.policies.insert(of, {.name = std::string{name}});
    return it->in(*of);
}

}  // namespace

config parse_config(std::string_view text, const std::string& file) {
    config settings;
    std::set<std::string_view> seen;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto length = std::min(text.find('\n'), text.size());
        const auto line = trimmed(text.substr(0, length));
        text.remove_prefix(std::min(length + 1, text.size()));
        if (line.empty() || line.front() == '#') continue;

        // Values are not repeated in messages: a URL may hold a password.
        const auto complain = [&](const std::string& what) {
            throw usage_error(fmt::format("{}:{}: {}", base::printable(file), number, what));
        };
        const auto equals = line.find('=');
        if (equals == std::string_view::npos) complain("a setting is written \"key = value\"");
        const auto key = trimmed(line.substr(0, equals));
        const auto place = place_of(settings, key);
        if (!place) {
            complain(
                fmt::format("\"{}\" is not a setting; use one of {}", base::printable(key), known_keys()));
        }
        if (!seen.insert(key).second) complain(fmt::format("{} is set twice", key));
        const auto value = without_quotes(trimmed(line.substr(equals + 1)));
        if (!value)
            complain(
                fmt::format("the value of {} begins with a quote, so it must end with the same quote and "
                            "contain no other; quotes are optional",
                            key));
        if (const auto wrong = assign(*place, *value); !wrong.empty()) {
            complain(fmt::format("the value of {} {}", key, wrong));
        }
    }
    return settings;
}

config read_config(const std::string& file) {
    errno = 0;
    std::ifstream in{file, std::ios::binary};
    std::string text;
    std::array<char, 4096> part{};
    while (in.read(part.data(), part.size()), in.gcount() > 0) {
        text.append(part.data(), static_cast<std::size_t>(in.gcount()));
        if (text.size() > largest_file) {
            throw usage_error(fmt::format("\"{}\" is not a configuration file: it is larger than 1 MiB",
                                          base::printable(file)));
        }
    }
    if (!in.is_open() || in.bad()) {  // a directory opens without an error and fails here
        throw usage_error(fmt::format("cannot read the configuration file \"{}\": {}", base::printable(file),
                                      std::generic_category().message(errno == 0 ? EIO : errno)));
    }
    return parse_config(text, file);
}

}  // namespace holdfast::cli
