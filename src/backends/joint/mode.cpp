#include "backends/joint/mode.hpp"

#include "backends/joint/fields.hpp"
#include "store/linearizable_register.hpp"

#include <algorithm>

namespace holdfast::joint_backend {

namespace {

constexpr std::string_view first_line = "holdfast mode 1";
constexpr std::size_t longest_history = 20;
constexpr std::size_t longest_reason = 160;

std::string to_fields(std::int64_t at, const mode_author& author) {
    return std::to_string(at) + '\t' + std::to_string(author.pid) + '\t' + field(author.host) + '\t' +
           field(author.by) + '\t' + field(author.reason, longest_reason);
}

bool read_fields(std::string_view line, std::int64_t& at, mode_author& author) {
    if (!read(cut(line, '\t'), at) || !read(cut(line, '\t'), author.pid)) return false;
    author.host = cut(line, '\t');
    author.by = cut(line, '\t');
    author.reason = line;
    return true;
}

bool read_levels(std::string_view text, std::size_t levels, needed_levels& to) {
    if (!read_numbers(text, levels, to)) return false;
    if (to.size() == 2) return to[0] + 1 == to[1] || to[1] + 1 == to[0];
    return to.size() == 1;
}

}  // namespace

std::string to_text(const mode_record& r) {
    std::string head{first_line};
    head += "\nepoch " + std::to_string(r.epoch) + "\nneeds " + numbers(r.needed) + "\nagreed " + r.agreed;
    if (r.settled) head += "\nsettled";
    if (const auto& a = r.automation)
        head += std::string{"\nautomatic\t"} + (a->on ? "on" : "off") + '\t' + to_fields(a->at, a->author);
    std::string tail;
    const auto lines = std::min(r.history.size(), longest_history);
    for (auto c = r.history.rbegin(); c != r.history.rbegin() + static_cast<std::ptrdiff_t>(lines); ++c) {
        const auto line = "\nchange\t" + std::to_string(c->epoch) + '\t' + numbers(c->needed) + '\t' +
                          to_fields(c->at, c->author);
        if (head.size() + tail.size() + line.size() > backend::linearizable_register::longest_text) break;
        tail.insert(0, line);
    }
    return head + tail;
}

std::optional<mode_record> parse(std::string_view text, std::size_t levels) {
    mode_record r;
    if (cut(text, '\n') != first_line) return std::nullopt;
    const auto value_of = [&](std::string_view key) -> std::string_view {
        auto line = cut(text, '\n');
        return cut(line, ' ') == key ? line : std::string_view{};
    };
    if (!read(value_of("epoch"), r.epoch) || !read_levels(value_of("needs"), levels, r.needed))
        return std::nullopt;
    r.agreed = value_of("agreed");
    while (!text.empty()) {
        auto line = cut(text, '\n');
        const auto what = cut(line, '\t');
        if (what == "automatic" && !r.automation && r.history.empty()) {
            auto& a = r.automation.emplace();
            const auto word = cut(line, '\t');
            a.on = word == "on";
            if ((!a.on && word != "off") || !read_fields(line, a.at, a.author)) return std::nullopt;
            continue;
        }
        if (what == "settled" && line.empty() && r.is_joint() && r.history.empty()) {
            r.settled = true;
            continue;
        }
        recorded_change c;
        if (what != "change" || !read(cut(line, '\t'), c.epoch) ||
            !read_levels(cut(line, '\t'), levels, c.needed) || !read_fields(line, c.at, c.author))
            return std::nullopt;
        r.history.push_back(std::move(c));
    }
    return r;
}

mode_record first_mode(std::string agreed) { return {1, {0}, std::move(agreed)}; }

mode_record automated(mode_record from, bool on, std::int64_t at, mode_author author) {
    from.automation = {on, at, std::move(author)};
    return from;
}

mode_record settled(mode_record from, std::int64_t at, mode_author author) {
    if (from.is_automatic()) from = automated(std::move(from), false, at, std::move(author));
    from.settled = true;
    return from;
}

mode_record changed(mode_record from, needed_levels to, std::int64_t at, mode_author author, changed_by how) {
    if (from.is_automatic() && how == changed_by::hand) from = automated(std::move(from), false, at, author);
    from.needed = std::move(to);
    from.settled = false;
    ++from.epoch;
    from.history.push_back({from.epoch, from.needed, at, std::move(author)});
    return from;
}

std::optional<needed_levels> next_step(const needed_levels& now, std::size_t goal) {
    if (now.size() == 1) {
        const auto at = now.front();
        if (at == goal) return std::nullopt;
        return needed_levels{at, goal > at ? at + 1 : at - 1};
    }
    const auto [low, high] = std::minmax(now[0], now[1]);
    return needed_levels{goal <= low ? low : high};
}

needed_levels with_neighbour(std::size_t level, std::size_t levels) {
    return {level, level + 1 < levels ? level + 1 : level - 1};
}

boot_clock::duration shortest_joint_mode(milliseconds mode_lease, milliseconds max_skew,
                                         const engine::clock_margin& margin) {
    // The clocks of a client that uses the old mode and of the author may both be wrong by the drift.
    const std::chrono::duration<double, std::milli> span{static_cast<double>(mode_lease.count()) *
                                                         (1.0 + 2.0 * margin.drift)};
    return std::chrono::ceil<milliseconds>(span) + margin.fixed + max_skew;
}

std::string in_words(const needed_levels& of) {
    if (of.size() == 1) return "level " + std::to_string(of.front() + 1);
    return "levels " + std::to_string(of.front() + 1) + " and " + std::to_string(of.back() + 1);
}

}  // namespace holdfast::joint_backend
