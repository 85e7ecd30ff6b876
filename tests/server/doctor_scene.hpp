// Functions to examine servers and to read the findings.
#pragma once

#include "server/scene.hpp"

#include <holdfast/admin.hpp>

#include <algorithm>
#include <optional>
#include <sstream>

namespace holdfast::test {

inline std::vector<finding> found(const examination& in, std::string_view id) {
    std::vector<finding> some;
    for (const auto& f : in.findings)
        if (f.id == id) some.push_back(f);
    return some;
}

// The worst severity of the findings with this id, if there are any.
inline std::optional<severity> worst_of(const examination& in, std::string_view id) {
    std::optional<severity> worst;
    for (const auto& f : in.findings)
        if (f.id == id) worst = std::max(worst.value_or(severity::ok), f.how_bad);
    return worst;
}

// The findings of missing rights, which say how to mend them.
inline std::vector<finding> missing(const examination& in) {
    std::vector<finding> some;
    for (const auto* id : {"missing-command", "missing-key", "missing-channel", "renamed-command"})
        for (auto& f : found(in, id)) some.push_back(std::move(f));
    return some;
}

inline examination examined(const std::string& url, const examine_options& how = {}) {
    client c{settings(url)};
    return examine(c, how);
}

inline std::optional<severity> worst_on(const redis_server& of, std::string_view id) {
    return worst_of(examined(of.url()), id);
}

inline std::size_t with_role(const examination& in, const std::string& role) {
    return static_cast<std::size_t>(
        std::count_if(in.servers.begin(), in.servers.end(), [&](const auto& s) { return s.role == role; }));
}

inline bool mentions(const examination& in, std::string_view id, const std::string& text) {
    const auto all = found(in, id);
    return std::any_of(all.begin(), all.end(), [&](const auto& f) {
        return f.found.find(text) != std::string::npos || f.subject.find(text) != std::string::npos;
    });
}

inline std::string all_of(const examination& in) {
    std::string text;
    for (const auto& f : in.findings)
        text.append(to_string(f.how_bad)).append(" ").append(f.id).append(": ").append(f.found).append("\n");
    return text;
}

inline std::vector<std::string> split(const std::string& line) {
    std::istringstream in{line};
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    return words;
}

}  // namespace holdfast::test
