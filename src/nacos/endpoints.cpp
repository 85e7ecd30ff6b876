#include "nacos/endpoints.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace holdfast::nacos {

namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds answered_within{5'000};
// One more than a document may have: then it is seen to be too large. JSON may need six bytes for one of
// them.
constexpr std::size_t largest_text = 64 * 1024 + 1;
constexpr std::size_t largest_json = 6 * largest_text + 4096;

constexpr int missing_code = 20004;

std::string encoded(std::string_view text) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string all;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                           c == '.' || c == '_' || c == '-';
        if (plain) {
            all += c;
        } else {
            all += '%';
            all += digits[byte >> 4U];
            all += digits[byte & 15U];
        }
    }
    return all;
}

request with(request r, const std::string& token) {
    // Not in the URL, which servers and proxies write to their logs. All versions take it from this header.
    if (!token.empty()) r.headers.push_back("Authorization: Bearer " + token);
    return r;
}

request question(const address& of, const std::string& md5, const std::string& token) {
    auto asks = of.id + '\2' + of.group + '\2' + md5;
    if (!of.name_space.empty()) asks += '\2' + of.name_space;
    return with({.target = of.how.path + "/v1/cs/configs/listener",
                 .form = "Listening-Configs=" + encoded(asks + '\1'),
                 .time_limit = answered_within,
                 .most = largest_text},
                token);
}

bool is_md5(std::string_view text) {
    return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The text of a member; empty if there is none.
std::string text_of(const json& in, const char* key) {
    const auto it = in.is_object() ? in.find(key) : in.end();
    return it != in.end() && it->is_string() ? it->get<std::string>() : std::string{};
}

no_configuration foreign(const answer& from) {
    return {"its answer (HTTP " + std::to_string(from.status) + ") is not one of Nacos"};
}

configuration read_v3(const answer& from) {
    const auto all = json::parse(from.body, nullptr, false);
    if (!all.is_object() || !all.contains("code") || !all.at("code").is_number_integer())
        return foreign(from);
    const auto code = all.at("code").get<int>();
    if (code == missing_code) return missing{};
    if (code != 0) return no_configuration{"it answers with the error " + std::to_string(code)};
    const auto& data = all.contains("data") ? all.at("data") : all;
    auto md5 = text_of(data, "md5");
    if (!is_md5(md5)) return foreign(from);
    return present{text_of(data, "content"), std::move(md5)};
}

}  // namespace

request login_request(const address& to, interface_version by) {
    return {.target = to.how.path + (by == interface_version::v1 ? "/v1/auth/login" : "/v3/auth/user/login"),
            .form = "username=" + encoded(to.user) + "&password=" + encoded(to.password),
            .time_limit = answered_within,
            .most = largest_text};
}

request read_request(const address& of, interface_version by, const std::string& token) {
    const bool v1 = by == interface_version::v1;
    auto target = of.how.path + (v1 ? "/v1/cs/configs?dataId=" : "/v3/client/cs/config?dataId=") +
                  encoded(of.id) + (v1 ? "&group=" : "&groupName=") + encoded(of.group);
    if (!of.name_space.empty()) target += (v1 ? "&tenant=" : "&namespaceId=") + encoded(of.name_space);
    return with({.target = std::move(target),
                 .time_limit = answered_within,
                 .most = v1 ? largest_text : largest_json},
                token);
}

request long_poll_request(const address& of, const std::string& md5, const std::string& token) {
    auto r = question(of, md5, token);
    r.headers.push_back("Long-Pulling-Timeout: " + std::to_string(of.how.long_poll.count()));
    r.time_limit += of.how.long_poll;
    return r;
}

request probe_request(const address& of, const std::string& token) { return question(of, {}, token); }

std::optional<login_answer> read_login(const answer& from) {
    if (from.status != 200) return std::nullopt;
    const auto all = json::parse(from.body, nullptr, false);
    if (!all.is_object()) return std::nullopt;
    const auto& data = all.contains("data") ? all.at("data") : all;
    auto token = text_of(data, "accessToken");
    // It becomes a header.
    const bool is_plain = std::ranges::all_of(token, [](char c) { return c > ' ' && c < '\x7f'; });
    if (token.empty() || !is_plain) return std::nullopt;
    const auto lives = data.find("tokenTtl");
    const bool is_known = lives != data.end() && lives->is_number_integer() && lives->get<std::int64_t>() > 0;
    // Servers drop a token after five hours unless they are told otherwise.
    const auto seconds =
        is_known ? std::min<std::int64_t>(lives->get<std::int64_t>(), 365 * 24 * 3600) : 18'000;
    return login_answer{std::move(token), std::chrono::seconds{seconds}};
}

configuration read_configuration(answer from, interface_version by) {
    if (by == interface_version::v3) {
        if (from.body.size() < largest_json) return read_v3(from);
        return present{std::move(from.body),
                       {}};  // cut off; as it is larger than a document, it is a bad one
    }
    if (!is_md5(from.md5)) return foreign(from);
    return present{std::move(from.body), std::move(from.md5)};
}

poll_answer read_poll(const address& of, const answer& from) {
    if (from.body.find_first_not_of(" \r\n") == std::string::npos) return poll_answer::nothing_new;
    const auto ours = encoded(of.id) + "%02" + encoded(of.group);
    return from.body.find(ours) != std::string::npos ? poll_answer::changed : poll_answer::foreign;
}

}  // namespace holdfast::nacos
