#include "fallback/document.hpp"

#ifdef HOLDFAST_HAS_JSON
#include <nlohmann/json.hpp>
#endif

#include <algorithm>
#include <set>
#include <utility>

namespace holdfast::fallback {

namespace {

constexpr std::string_view use_redis = "distributed.lock.use-redis";

std::string_view trimmed(std::string_view s) {
    constexpr std::string_view blank = " \t\r\n\xEF\xBB\xBF";  // and a byte order mark
    const auto first = s.find_first_not_of(blank);
    if (first == std::string_view::npos) return {};
    return s.substr(first, s.find_last_not_of(blank) - first + 1);
}

document wish_of(bool store) {
    return {.groups = {{std::string{default_group}, store ? mode::store : mode::fallback}}};
}

// Lines "key=value" or "key: value"; other keys are other people's.
std::variant<document, bad_document> read_properties(std::string_view text) {
    std::optional<bool> found;
    while (!text.empty()) {
        const auto length = std::min(text.find('\n'), text.size());
        const auto line = trimmed(text.substr(0, length));
        text.remove_prefix(std::min(length + 1, text.size()));
        if (line.empty() || line.front() == '#' || line.front() == '!') continue;
        const auto cut = line.find_first_of("=:");
        if (cut == std::string_view::npos || trimmed(line.substr(0, cut)) != use_redis) continue;
        const auto value = trimmed(line.substr(cut + 1));
        if (found) return bad_document{std::string{use_redis}, "is set twice"};
        if (value != "true" && value != "false")
            return bad_document{std::string{use_redis}, "must be true or false"};
        found = value == "true";
    }
    if (!found) return bad_document{{}, "has neither \"holdfast\" nor " + std::string{use_redis}};
    return wish_of(*found);
}

#ifdef HOLDFAST_HAS_JSON
using nlohmann::json;

struct bad : std::exception {
    bad(std::string field, std::string why) : what_is{std::move(field), std::move(why)} {}
    bad_document what_is;
};

void expect_only(const json& in, const std::string& path, const std::set<std::string>& keys) {
    if (!in.is_object()) throw bad(path, "must be an object");
    for (const auto& [key, value] : in.items())
        if (!keys.contains(key)) throw bad(path, "has a key that is not known");
}

std::string text_at(const json& in, const char* key) {
    const auto it = in.find(key);
    if (it == in.end()) return {};
    if (!it->is_string() || it->get_ref<const std::string&>().size() > 200)
        throw bad(key, "must be a text of at most 200 bytes");
    return it->get<std::string>();
}

template <class Value>
Value one_of(const json& in, const std::string& path, const std::map<std::string, Value>& words) {
    std::string list;
    for (const auto& [word, value] : words) list += (list.empty() ? "" : ", ") + word;
    const auto it = in.is_string() ? words.find(in.get<std::string>()) : words.end();
    if (it == words.end()) throw bad(path, "must be one of: " + list);
    return it->second;
}

mode mode_at(const json& in, const std::string& path) {
    return one_of<mode>(in, path,
                        {{"redis", mode::store}, {"fallback", mode::fallback}, {"auto", mode::automatic}});
}

document read_all(const json& all, std::optional<std::uint64_t> last) {
    expect_only(all, {}, {"holdfast", "serial", "by", "reason", "groups", "breaker"});
    if (all.at("holdfast") != 1) throw bad("holdfast", "must be 1, the version of the form");
    document d{.by = text_at(all, "by"), .reason = text_at(all, "reason")};
    const auto serial = all.find("serial");
    if (serial == all.end() || !serial->is_number_unsigned())
        throw bad("serial", "must be a number, higher than in the last document");
    d.serial = serial->get<std::uint64_t>();
    if (last && *d.serial < *last) throw bad("serial", "is lower than in the last document");
    if (const auto groups = all.find("groups"); groups != all.end()) {
        if (!groups->is_object()) throw bad("groups", "must be an object");
        for (const auto& [name, group] : groups->items()) {
            const auto path = "groups." + (name.size() <= 64 ? name : std::string{"..."});
            expect_only(group, path, {"mode"});
            if (!group.contains("mode")) throw bad(path + ".mode", "is missing");
            d.groups.emplace(name, mode_at(group.at("mode"), path + ".mode"));
        }
    }
    if (const auto breaker = all.find("breaker"); breaker != all.end()) {
        expect_only(*breaker, "breaker", {"forced"});
        if (breaker->contains("forced"))
            d.breaker = one_of<forced_breaker>(breaker->at("forced"), "breaker.forced",
                                               {{"no", forced_breaker::no},
                                                {"open", forced_breaker::open},
                                                {"closed", forced_breaker::closed}});
    }
    return d;
}

std::variant<document, bad_document> read_json(std::string_view text, std::optional<std::uint64_t> last) {
    const auto all = json::parse(text, nullptr, false);
    if (!all.is_object()) return bad_document{{}, "is no JSON object"};
    if (const auto it = all.find(use_redis); it != all.end() && !all.contains("holdfast")) {
        if (!it->is_boolean()) return bad_document{std::string{use_redis}, "must be true or false"};
        return wish_of(it->get<bool>());
    }
    if (!all.contains("holdfast")) return bad_document{"holdfast", "is missing: it must be 1"};
    try {
        return read_all(all, last);
    } catch (const bad& no) {
        return no.what_is;
    }
}
#else
std::variant<document, bad_document> read_json(std::string_view, std::optional<std::uint64_t>) {
    return bad_document{{}, "is JSON, which this build of the library cannot read"};
}
#endif

}  // namespace

std::variant<document, bad_document> read_document(std::string_view text, std::optional<std::uint64_t> last) {
    if (text.size() > largest_document) return bad_document{{}, "is larger than 64 KiB"};
    const auto body = trimmed(text);
    if (body.empty()) return bad_document{{}, "is empty"};
    return body.front() == '{' ? read_json(body, last) : read_properties(body);
}

}  // namespace holdfast::fallback
