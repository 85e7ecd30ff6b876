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
#include <system_error>
#include <variant>

namespace holdfast::cli {

namespace {

using std::chrono::milliseconds;

using setting = std::variant<std::string*, milliseconds*, double*, unsigned*>;

struct field {
    std::string_view key;
    setting (*in)(config& of);
};

constexpr std::array fields{
    field{"url", [](config& of) -> setting { return &of.url; }},
    field{"lease", [](config& of) -> setting { return &of.lease; }},
    field{"renew_after", [](config& of) -> setting { return &of.renew_after; }},
    field{"poll_gap", [](config& of) -> setting { return &of.poll_gap; }},
    field{"redis.silent_poll", [](config& of) -> setting { return &of.redis.silent_poll; }},
    field{"drift", [](config& of) -> setting { return &of.drift; }},
    field{"margin", [](config& of) -> setting { return &of.margin; }},
    field{"patience", [](config& of) -> setting { return &of.patience; }},
    field{"local_turns", [](config& of) -> setting { return &of.local_turns; }},
    field{"redis.fair_liveness", [](config& of) -> setting { return &of.redis.fair_liveness; }},
    field{"redis.connections", [](config& of) -> setting { return &of.redis.connections; }},
    field{"answer_timeout", [](config& of) -> setting { return &of.answer_timeout; }},
    field{"close_timeout", [](config& of) -> setting { return &of.close_timeout; }},
    field{"slow_callback", [](config& of) -> setting { return &of.slow_callback; }},
    field{"program", [](config& of) -> setting { return &of.program; }},
};

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
std::string assign(config& settings, const field& to, std::string_view value) {
    const auto target = to.in(settings);
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
    for (const auto& f : fields) all.append(all.empty() ? "" : ", ").append(f.key);
    return all;
}

}  // namespace

config parse_config(std::string_view text, const std::string& file) {
    config settings;
    std::array<bool, fields.size()> seen{};
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
        const auto* const it = std::ranges::find(fields, key, &field::key);
        if (it == fields.end()) {
            complain(
                fmt::format("\"{}\" is not a setting; use one of {}", base::printable(key), known_keys()));
        }
        auto& before = seen[static_cast<std::size_t>(it - fields.begin())];
        if (before) complain(fmt::format("{} is set twice", key));
        before = true;
        const auto value = without_quotes(trimmed(line.substr(equals + 1)));
        if (!value)
            complain(
                fmt::format("the value of {} begins with a quote, so it must end with the same quote and "
                            "contain no other; quotes are optional",
                            key));
        if (const auto wrong = assign(settings, *it, *value); !wrong.empty()) {
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
