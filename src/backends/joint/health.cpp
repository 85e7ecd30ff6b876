#include "backends/joint/health.hpp"

#include "backends/joint/fields.hpp"

#include <algorithm>

namespace holdfast::joint_backend {

namespace {

constexpr std::string_view first_of_reports = "holdfast health 1";

}  // namespace

std::string to_text(const health_reports& all) {
    std::string text{first_of_reports};
    for (const auto& r : all)
        text += "\nreport\t" + field(r.client) + '\t' + std::to_string(r.count) + '\t' + numbers(r.down) +
                '\t' + field(r.host);
    return text;
}

std::optional<health_reports> parse_health(std::string_view text, std::size_t levels) {
    health_reports all;
    if (cut(text, '\n') != first_of_reports) return std::nullopt;
    while (!text.empty()) {
        auto line = cut(text, '\n');
        health_report r;
        if (cut(line, '\t') != "report") return std::nullopt;
        r.client = cut(line, '\t');
        if (!read(cut(line, '\t'), r.count) || !read_numbers(cut(line, '\t'), levels, r.down))
            return std::nullopt;
        r.host = line;
        all.push_back(std::move(r));
    }
    return all;
}

void health::take(health_reports now_there, time_point now) {
    all_ = std::move(now_there);
    std::map<std::string, seen> next;
    for (const auto& r : all_) {
        const auto before = seen_.find(r.client);
        const bool is_same = before != seen_.end() && before->second.count == r.count;
        next[r.client] = is_same ? before->second : seen{r.count, now, has_looked_};
    }
    seen_ = std::move(next);
    has_looked_ = true;
}

std::optional<health_reports> health::live(time_point now) const {
    auto found = all_;
    std::erase_if(found, [&](const auto& r) { return is_stale(r, now); });
    const auto is_known = [&](const auto& r) { return seen_.at(r.client).is_known; };
    return std::ranges::all_of(found, is_known) ? std::optional{std::move(found)} : std::nullopt;
}

std::optional<health_reports> health::with(const health_report& own, time_point now) const {
    auto all = all_;
    std::erase_if(all, [&](const auto& r) { return is_stale(r, now) && r.client != own.client; });
    const auto mine = std::ranges::find(all, own.client, &health_report::client);
    if (mine != all.end()) {
        const auto count = mine->count + 1;
        *mine = own;
        mine->count = count;
        return all;
    }
    const bool is_reported = std::ranges::find(all, own.host, &health_report::host) != all.end();
    if (is_reported || all.size() >= most_reporters) return std::nullopt;
    all.push_back(own);
    return all;
}

}  // namespace holdfast::joint_backend
