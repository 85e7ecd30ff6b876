#include "backends/joint/url.hpp"

#include "base/store_place.hpp"
#include "base/text.hpp"
#include "engine/quarantine.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <cctype>
#include <span>

namespace holdfast::joint_backend {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_levels = 8;
constexpr std::size_t longest_agreed = 4'096;

[[noreturn]] void bad_url(const std::string& sentence) {
    throw error(errc::invalid_argument, "joint URL: " + sentence);
}

std::string in_quotes(std::string_view text) { return "\"" + base::printable(text.substr(0, 64)) + "\""; }

bool begins_url(std::string_view item) {
    return item.find("://") != std::string_view::npos || item.starts_with("sqlite:") ||
           item.starts_with("file:") || item.starts_with("local:");
}

bool is_redis(std::string_view url) { return url.starts_with("redis") || url.starts_with("unix:"); }

milliseconds duration_of(std::string_view option, std::string_view value, milliseconds least,
                         milliseconds longest) {
    const auto d = base::parse_duration(value);
    if (!d) bad_url(std::string{option} + "=" + in_quotes(value) + ' ' + base::why_no_duration(value) + '.');
    if (*d < least || *d > longest)
        bad_url(std::string{option} + "=" + in_quotes(value) + " is not a duration from " +
                base::to_text(least) + " to " + base::to_text(longest) + ".");
    return *d;
}

bool is_setting(std::string_view item) {
    for (const std::string_view option :
         {"arbiter=", "group=", "mode_lease=", "max_skew=", "down_for=", "healthy_for=", "pin="})
        if (item.starts_with(option)) return true;
    return false;
}

struct needed_option {
    std::string_view name;  // with "="
    std::string_view value;
    std::string_view why;
};

constexpr std::string_view would_grant_again =
    "a Redis that has lost its locks would grant them to others, and no other level would prevent it";
constexpr needed_option of_redis[] = {{"restarts=", "quarantined", would_grant_again},
                                      {"failover=", "grace", would_grant_again}};
constexpr needed_option of_zookeeper[] = {
    {"fences=", "time", "the fences of all levels must follow one order"}};

std::span<const needed_option> needed_in(std::string_view url) {
    if (is_redis(url)) return of_redis;
    if (url.starts_with("zk:") || url.starts_with("zks:")) return of_zookeeper;
    return {};
}

// Clients in two folders would mean two files, and exclude nobody.
void refuse_relative_path(std::string_view url, const std::string& of) {
    const auto scheme = url.substr(0, url.find(':') + 1);
    if ((scheme == "sqlite:" || scheme == "file:") && !url.substr(scheme.size()).starts_with('/'))
        bad_url(of + " needs a path that begins with \"/\": it must be the same for all clients.");
}

std::string url_of_level(std::string_view url, std::size_t number) {
    std::string made{url};
    refuse_relative_path(url, "level " + std::to_string(number));
    const auto scheme = url.substr(0, url.find(':'));
    if (scheme == "local" || scheme == "redlock" || scheme == "joint")
        bad_url(
            "level " + std::to_string(number) + " is " + in_quotes(std::string{scheme} + ':') +
            (scheme == "local" ? ", which ends with this process." : ", which is made of stores itself."));
    const auto options = url.substr(std::min(url.find('?'), url.size()));
    bool any = !options.empty();
    for (const auto& [name, value, why] : needed_in(url)) {
        const auto at = options.find(name);
        if (at == std::string_view::npos) {
            made.append(any ? "&" : "?").append(name).append(value);
            any = true;
            continue;
        }
        const auto given = options.substr(at + name.size());
        if (given.substr(0, given.find('&')) != value)
            bad_url("level " + std::to_string(number) + " must have " + std::string{name} +
                    std::string{value} + ", which is the default here: " + std::string{why} + '.');
    }
    return made;
}

void apply_setting(joint_config& to, std::string_view item) {
    const auto equals = item.find('=');
    const auto option = item.substr(0, equals);
    const auto value = item.substr(equals + 1);
    if (option == "mode_lease") {
        to.mode_lease = duration_of(option, value, 500ms, 10min);
    } else if (option == "max_skew") {
        to.max_skew = duration_of(option, value, 0ms, 60s);
    } else if (option == "down_for") {
        to.down_for = duration_of(option, value, 100ms, 10min);
    } else if (option == "healthy_for") {
        to.healthy_for = duration_of(option, value, 100ms, 24h);
    } else if (option == "pin") {
        if (value.size() != 1 || value[0] < '1' || value[0] > '8')
            bad_url("pin=" + in_quotes(value) + " is not the number of a level; the first one is 1.");
        to.pin = static_cast<std::size_t>(value[0] - '1');
    } else if (option == "group") {
        const auto fits = [](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
        };
        if (value.empty() || value.size() > 48 || !std::all_of(value.begin(), value.end(), fits))
            bad_url("group=" + in_quotes(value) +
                    " is not made of 1 to 48 letters, digits, \"-\", \"_\" and \".\".");
        to.group = value;
    } else {
        if (value.starts_with("local:"))
            bad_url("arbiter=local: ends with this process, so no other would hear of a change.");
        refuse_relative_path(value, "arbiter=");
        to.arbiter = {std::string{value}, base::store_place(value)};
    }
}

std::vector<std::string_view> options_of(std::string_view url) {
    std::vector<std::string_view> all;
    auto rest = url.substr(std::min(url.find('?'), url.size()));
    while (!rest.empty()) {
        rest.remove_prefix(1);
        all.push_back(rest.substr(0, rest.find('&')));
        rest.remove_prefix(all.back().size());
    }
    return all;
}

// The options that choose where the locks are in a store, and for how long it does not forget them:
// "?base=/x".
std::string places_options(std::string_view url) {
    std::string chosen;
    for (const auto option : options_of(url))
        for (const std::string_view name : {"base=", "names=", "layout=", "longest_lease="})
            if (option.starts_with(name)) chosen.append(chosen.empty() ? "?" : "&").append(option);
    return chosen;
}

// The store itself refuses a value that is no duration.
std::optional<milliseconds> longest_lease_of(std::string_view url) {
    constexpr std::string_view name = "longest_lease=";
    std::optional<milliseconds> longest;
    bool may_forget = false;
    for (const auto option : options_of(url)) {
        may_forget = may_forget || option == "restarts=quarantined";
        if (option.starts_with(name)) longest = base::parse_duration(option.substr(name.size()));
    }
    if (!may_forget) return std::nullopt;
    return longest.value_or(engine::quarantine_settings{}.longest_lease);
}

void check_skew(const joint_config& of) {
    for (std::size_t i = 0; i < of.levels.size(); ++i)
        if (const auto longest = of.levels[i].longest_lease; longest && of.max_skew >= *longest)
            bad_url("max_skew, " + base::to_text(of.max_skew) +
                    ", must be shorter than the longest_lease of level " + std::to_string(i + 1) + ", " +
                    base::to_text(*longest) +
                    ": if that level is restarted and has lost its data, it grants locks again after its "
                    "longest_lease, and fences given before may be ahead of its clock by max_skew.");
}

// "gruop=shop", which must not become a part of the URL before it: that would be another store.
bool may_be_setting(std::string_view item) {
    const auto equals = item.find('=');
    return equals != std::string_view::npos && item.find('@') == std::string_view::npos &&
           item.substr(0, equals).find_first_of("?/:.[") == std::string_view::npos;
}

[[noreturn]] void refuse_setting(std::string_view item) {
    bad_url("the option " + in_quotes(item.substr(0, item.find('='))) +
            " is unknown; there are arbiter, group, mode_lease, max_skew, down_for, healthy_for and pin.");
}

}  // namespace

std::string joint_config::agreed() const {
    std::string text = "mode_lease=" + base::to_text(mode_lease) + " max_skew=" + base::to_text(max_skew);
    for (const auto& one : levels) text += " level=" + base::printable(one.place + places_options(one.url));
    return text;
}

std::string joint_config::shown() const {
    const joint_config usual;
    std::string text = "joint:";
    const auto put = [&](std::string_view option, const std::string& value) {
        text.append(option).append(value).append(",");
    };
    const auto put_duration = [&](std::string_view option, milliseconds joint_config::*of) {
        if (this->*of != usual.*of) put(option, base::to_text(this->*of));
    };
    if (pin) put("pin=", std::to_string(*pin + 1));
    if (arbiter.place != levels.back().place) put("arbiter=", base::url_without_password(arbiter.url));
    if (group != usual.group) put("group=", group);
    put_duration("mode_lease=", &joint_config::mode_lease);
    put_duration("max_skew=", &joint_config::max_skew);
    put_duration("down_for=", &joint_config::down_for);
    put_duration("healthy_for=", &joint_config::healthy_for);
    for (const auto& one : levels)
        text += (&one == &levels.front() ? "" : ",") + base::url_without_password(one.given);
    return base::printable(text);
}

joint_config parse_url(std::string_view url) {
    joint_config to;
    url.remove_prefix(std::min(url.size(), std::string_view{"joint:"}.size()));
    std::vector<std::string> urls;
    bool in_arbiter = false;
    while (!url.empty()) {
        const auto item = url.substr(0, url.find(','));
        url.remove_prefix(std::min(url.size(), item.size() + 1));
        if (is_setting(item)) {
            if (!urls.empty()) bad_url("its settings, as group=G, stand before its levels.");
            apply_setting(to, item);
            in_arbiter = item.starts_with("arbiter=");
        } else if (begins_url(item)) {
            urls.emplace_back(item);
            in_arbiter = false;
        } else if (may_be_setting(item)) {
            refuse_setting(item);
        } else if (item.empty()) {
            bad_url("two commas stand side by side.");
        } else if (in_arbiter) {  // one more of its hosts
            to.arbiter = {to.arbiter.url + ',' + std::string{item}, ""};
            to.arbiter.place = base::store_place(to.arbiter.url);
        } else if (!urls.empty()) {
            urls.back().append(",").append(item);
        } else {
            bad_url(
                "it begins with its settings, as group=G, and then its levels, as redis://host:6379, all "
                "separated by commas; one of them is neither.");
        }
    }
    if (urls.size() < 2 || urls.size() > most_levels)
        bad_url("it has " + std::to_string(urls.size()) +
                " levels; it needs 2 to 8, the preferred one first, as "
                "joint:redis://host:6379,zk://h1,h2,h3.");
    for (const auto& one : urls) {
        level_url next{url_of_level(one, to.levels.size() + 1), base::store_place(one), one};
        next.longest_lease = longest_lease_of(next.url);
        for (std::size_t i = 0; i < to.levels.size(); ++i)
            if (to.levels[i].place == next.place)
                bad_url("the levels " + std::to_string(i + 1) + " and " +
                        std::to_string(to.levels.size() + 1) + " are the same store, " +
                        base::printable(next.place) + "; each must be one of its own.");
        to.levels.push_back(std::move(next));
    }
    if (to.pin && *to.pin >= to.levels.size())
        bad_url("pin=" + std::to_string(*to.pin + 1) + ": there are " + std::to_string(to.levels.size()) +
                " levels.");
    check_skew(to);
    if (to.arbiter.url.empty()) to.arbiter = to.levels.back();
    if (to.agreed().size() > longest_agreed) bad_url("it is too long for the register of its arbiter.");
    return to;
}

}  // namespace holdfast::joint_backend
