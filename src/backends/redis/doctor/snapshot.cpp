#include "backends/redis/doctor/snapshot.hpp"

#include "redis/protocol/info_text.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <charconv>

namespace holdfast::redis_backend::doctor {

const redis::reply* server_answer::reply() const noexcept {
    if (!outcome_) return nullptr;
    const auto* const r = std::get_if<redis::reply>(&*outcome_);
    return r == nullptr || r->is_error() ? nullptr : r;
}

std::string_view server_answer::text() const noexcept {
    const auto* const r = reply();
    return r != nullptr && r->is_text() ? std::string_view{r->text()} : std::string_view{};
}

std::optional<std::int64_t> server_answer::integer() const noexcept {
    const auto* const r = reply();
    if (r == nullptr || !r->is_integer()) return std::nullopt;
    return r->integer();
}

bool server_answer::answered() const noexcept {
    return outcome_ && std::holds_alternative<redis::reply>(*outcome_);
}

backend::failure server_answer::why() const {
    if (outcome_) {
        // An expired certificate is no misuse by the caller: the server is unavailable.
        if (const auto* no = std::get_if<redis::not_sent>(&*outcome_))
            return {no->not_trusted ? make_error_code(errc::unavailable) : no->code, no->text};
        if (const auto* no = std::get_if<redis::no_answer>(&*outcome_)) return {no->code, no->text};
        const auto& answer = std::get<redis::reply>(*outcome_);
        if (answer.is_error()) return {errc::unavailable, {}, answer.text()};
    }
    return {errc::unavailable, why_not()};
}

std::string server_answer::why_not() const {
    if (!outcome_) return "it was not asked";
    if (const auto* r = std::get_if<redis::reply>(&*outcome_))
        return r->is_error() ? r->text() : "an answer of an unexpected shape";
    if (const auto* no = std::get_if<redis::not_sent>(&*outcome_)) return no->text;
    return std::get<redis::no_answer>(*outcome_).text;
}

std::optional<std::int64_t> whole(std::string_view text) noexcept {
    std::int64_t n = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return n;
}

std::string_view named_value(const redis::reply& pairs, std::string_view name) {
    const auto items = pairs.items();
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
        if (items[i].text() == name) return items[i + 1].text();
    return {};
}

std::string_view part_of(std::string_view line, std::string_view name) {
    while (!line.empty()) {
        const auto part = line.substr(0, line.find(','));
        line.remove_prefix(std::min(line.size(), part.size() + 1));
        if (part.size() > name.size() && part.starts_with(name) && part[name.size()] == '=')
            return part.substr(name.size() + 1);
    }
    return {};
}

std::string snapshot::address() const {
    if (connection.db == 0) return connection.address;
    return connection.address + "/" + std::to_string(connection.db);
}

std::optional<std::string_view> snapshot::field(std::string_view name) const {
    const auto value = redis::info_field(info.text(), name);
    if (value.data() == nullptr) return std::nullopt;
    return value;
}

std::optional<std::int64_t> snapshot::number(std::string_view name) const {
    const auto value = field(name);
    return value ? whole(*value) : std::nullopt;
}

std::optional<std::string> snapshot::setting(std::string_view name) const {
    const auto asked = settings.find(name);
    const auto* const r = asked == settings.end() ? nullptr : asked->second.reply();
    if (r == nullptr) return std::nullopt;
    const auto items = r->items();
    if (items.size() < 2 || !items[1].is_text()) return std::nullopt;
    return items[1].text();
}

std::string snapshot::why_no_field(std::string_view name) const {
    if (info.reply() == nullptr) return "INFO: " + info.why_not();
    return "INFO has no usable " + std::string{name};
}

std::string snapshot::why_no_setting(std::string_view name) const {
    const auto asked = settings.find(name);
    if (asked != settings.end() && asked->second.reply() == nullptr)
        return "CONFIG GET: " + asked->second.why_not();
    return "CONFIG GET gives no usable " + std::string{name};
}

bool snapshot::is_cluster() const {
    return field("redis_mode") == "cluster" || field("cluster_enabled") == "1";
}
bool snapshot::is_replica() const { return field("role") == "slave"; }

std::optional<clock_sample> snapshot::best_clock() const {
    const auto best = std::min_element(clock.begin(), clock.end(), [](const auto& a, const auto& b) {
        return a.round_trip() < b.round_trip();
    });
    if (best == clock.end()) return std::nullopt;
    return *best;
}

}  // namespace holdfast::redis_backend::doctor
