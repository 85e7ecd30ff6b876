#include "cli/output/format.hpp"

#include "base/text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ctime>
#include <iterator>

namespace holdfast::cli {

namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

// Longer cells are rare, and would push the other columns of all rows out of sight.
constexpr std::size_t widest_column = 40;

// Columns on a terminal: bytes that continue a UTF-8 sequence take none. Wide characters count as one.
std::size_t width_of(const std::string& text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

bool is_utf8(const std::string& bytes) {
    try {
        (void)nlohmann::json(bytes).dump();
        return true;
    } catch (const nlohmann::json::type_error&) {
        return false;
    }
}

milliseconds age_of(system_clock::time_point since, system_clock::time_point now) {
    // The two times are of two machines' clocks: a small negative age counts as 0.
    return std::max(std::chrono::floor<milliseconds>(now - since), milliseconds{0});
}

nlohmann::ordered_json optional_ms(const std::optional<milliseconds>& d) {
    return d ? nlohmann::ordered_json(d->count()) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json to_json(const waiter_info& waiter) {
    nlohmann::ordered_json out{{"owner", json_text(waiter.owner)}};
    out["host"] = waiter.host.empty() ? nlohmann::ordered_json(nullptr)
                                      : nlohmann::ordered_json(json_text(waiter.host));
    out["pid"] = waiter.pid == 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(waiter.pid);
    out["waiting_ms"] = optional_ms(waiter.waiting);
    return out;
}

std::string described(const holder_info& holder, const lock_info& lock, system_clock::time_point now) {
    std::string line = process_text(holder.host, holder.pid);
    if (holder.since) line += fmt::format(", asked for it {} ago", rough(age_of(*holder.since, now)));
    const bool permits =
        lock.layout == type_name(kind::semaphore) || lock.layout == type_name(kind::permit_semaphore);
    if (holder.holds > 1)
        line += permits ? fmt::format(", {} permits", holder.holds)
                        : fmt::format(", held {} times", holder.holds);
    if (lock.layout == type_name(kind::shared_write)) line += holder.writes ? ", writes" : ", reads";
    switch (holder.client) {
        case presence::connected: line += ", connected"; break;
        case presence::gone: line += ", not connected"; break;
        case presence::unknown:
            // Foreign clients do not mark their connections, so nothing is known of them. Only ours record
            // since when they hold the lock.
            if (holder.since) line += ", not known whether connected";
            break;
    }
    return fmt::format("holder   {}\nowner    {}\n", line, base::printable(holder.owner));
}

}  // namespace

std::string aligned(const rows& table) {
    std::vector<std::size_t> widths;
    for (const auto& row : table) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (const auto width = width_of(row[i]); width <= widest_column)
                widths[i] = std::max(widths[i], width);
        }
    }
    std::string out;
    for (const auto& row : table) {
        for (std::size_t i = 0; i < row.size(); ++i) {
            out += row[i];
            if (i + 1 < row.size())
                out.append(std::max(widths[i], width_of(row[i])) - width_of(row[i]) + 2, ' ');
        }
        out += '\n';
    }
    return out;
}

std::string tab_separated(const rows& table) {
    std::string out;
    for (std::size_t i = 1; i < table.size(); ++i) out += fmt::format("{}\n", fmt::join(table[i], "\t"));
    return out;
}

std::string rough(milliseconds d) {
    const auto ms = d.count();
    const auto s = (ms + 500) / 1000;
    if (ms < 1000) return fmt::format("{}ms", ms);
    if (ms < 9950) return fmt::format("{:.1f}s", static_cast<double>(ms) / 1000);
    if (s < 60) return fmt::format("{}s", s);
    if (s < 3600) return fmt::format("{}m{:02}s", s / 60, s % 60);
    if (s < 86'400) return fmt::format("{}h{:02}m", s / 3600, s % 3600 / 60);
    return fmt::format("{}d{}h", s / 86'400, s % 86'400 / 3600);
}

std::string process_text(const std::string& host, std::int64_t pid) {
    if (host.empty() && pid == 0) return "another client";
    if (pid == 0) return base::printable(host);
    return fmt::format("{}, pid {}", host.empty() ? "unknown host" : base::printable(host), pid);
}

std::string holder_text(const holder_info& holder) {
    if (holder.host.empty()) return "another client";
    auto text = base::printable(holder.host);
    if (holder.pid != 0) text += fmt::format(":{}", holder.pid);
    return text;
}

std::string holder_text(const lock_info& lock) {
    if (lock.dead_waiters > 0) return "nobody, but " + dead_waiters_text(lock);
    if (lock.holders.empty()) return "-";
    auto text = holder_text(lock.holders.front());
    if (const auto others = lock.holders.size() - 1 + lock.more_holders; others > 0)
        text += fmt::format(" +{}", others);
    return text;
}

std::string dead_waiters_text(const lock_info& lock) {
    const bool one = lock.dead_waiters == 1;
    return fmt::format("{} dead waiter{} in the queue block{} it {}", lock.dead_waiters, one ? "" : "s",
                       one ? "s" : "", lock.blocked_for ? "for " + rough(*lock.blocked_for) : "forever");
}

namespace {

// The name and the kind, and what is special about this lock.
std::string heading(const lock_info& lock) {
    const bool free = lock.layout == "free";
    std::string out = fmt::format("lock     {}\n", lock.name.printable());
    if (lock.dead_waiters > 0)
        out += fmt::format(
            "kind     free, but {}\n         for Redisson's clients: holdfast's clients pass over dead "
            "waiters, and `holdfast evict` removes them\n",
            dead_waiters_text(lock));
    else
        out += fmt::format("kind     {}\n", free ? "free: nobody holds it" : base::printable(lock.layout));
    if (!free && !lock.ours && lock.layout != "counter")
        out += "         foreign: written by another client, which does not say who it is or since when\n";
    if (lock.may_be_data()) {
        out += fmt::format("         a string of {} bytes{}: it may be data, not a lock\n", lock.bytes,
                           lock.ttl ? "" : " that does not expire");
    }
    if (lock.layout == type_name(kind::recursive))
        out += "         a fair_mutex without waiters looks the same\n";
    if (lock.layout.starts_with(std::string{type_name(kind::recursive)} + ", an owner each"))
        out +=
            "         a RedissonRedLock or MultiLock of a Java client, which is held as a whole; or "
            "different "
            "holders\n";
    return out;
}

std::string described_counter(const lock_info& lock) {
    return fmt::format("count    {}\n", *lock.count) +
           "         a semaphore whose permits have no recorded owner, a latch, or some other number;\n"
           "         permits that Java or take() acquired have no owner, so the key does not show whether "
           "any are held\n";
}

std::string described_queue(const lock_info& lock) {
    auto out = fmt::format("queue    {} waiting\n", lock.queue.size() + lock.more_waiting);
    for (std::size_t i = 0; i < lock.queue.size(); ++i) {
        const auto& waiter = lock.queue[i];
        const auto waiting = waiter.waiting ? fmt::format(", for {}", rough(*waiter.waiting)) : std::string{};
        // Only the owner token distinguishes foreign waiters.
        const auto owner =
            waiter.host.empty() ? fmt::format(", owner {}", base::printable(waiter.owner)) : std::string{};
        out += fmt::format("{:>6}.  {}{}{}\n", i + 1, process_text(waiter.host, waiter.pid), waiting, owner);
    }
    if (lock.more_waiting > 0) out += fmt::format("         and {} more\n", lock.more_waiting);
    return out;
}

}  // namespace

std::string described(const lock_info& lock, system_clock::time_point now) {
    std::string out = heading(lock);
    for (const auto& holder : lock.holders) out += described(holder, lock, now);
    if (lock.more_holders > 0) out += fmt::format("         and {} more\n", lock.more_holders);
    if (lock.count && lock.layout != "counter") out += fmt::format("free     {}\n", *lock.count);
    if (lock.layout == "counter") out += described_counter(lock);
    if (lock.layout != "free")
        out += fmt::format("ttl      {}\n", lock.ttl ? rough(*lock.ttl) : "none: it does not expire");
    if (!lock.queue.empty()) out += described_queue(lock);
    if (lock.last_fence) out += fmt::format("fence    up to {} so far\n", *lock.last_fence);
    return out;
}

nlohmann::ordered_json to_json(const holder_info& holder) {
    nlohmann::ordered_json out{{"owner", json_text(holder.owner)}, {"holds", holder.holds}};
    out["host"] = holder.host.empty() ? nlohmann::ordered_json(nullptr)
                                      : nlohmann::ordered_json(json_text(holder.host));
    out["pid"] = holder.pid == 0 ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(holder.pid);
    out["since"] =
        holder.since ? nlohmann::ordered_json(iso_time(*holder.since)) : nlohmann::ordered_json(nullptr);
    out["connected"] = holder.client == presence::unknown
                           ? nlohmann::ordered_json(nullptr)
                           : nlohmann::ordered_json(holder.client == presence::connected);
    return out;
}

nlohmann::ordered_json to_json(const lock_info& lock) {
    nlohmann::ordered_json out{{"name", json_text(lock.name.str())}};
    if (!is_utf8(lock.name.str())) out["name_is_escaped"] = true;
    out["kind"] = json_text(lock.layout);
    out["held"] = lock.layout != "free" && lock.layout != "counter" && !lock.layout.starts_with("no lock");
    out["ours"] = lock.ours;
    out["holders"] = nlohmann::ordered_json::array();
    for (const auto& holder : lock.holders) {
        out["holders"].push_back(to_json(holder));
        if (lock.layout == type_name(kind::shared_write)) out["holders"].back()["writes"] = holder.writes;
    }
    out["more_holders"] = lock.more_holders;
    out["ttl_ms"] = optional_ms(lock.ttl);
    out["count"] = lock.count ? nlohmann::ordered_json(*lock.count) : nlohmann::ordered_json(nullptr);
    out["queue"] = nlohmann::ordered_json::array();
    for (const auto& waiter : lock.queue) out["queue"].push_back(to_json(waiter));
    out["more_waiting"] = lock.more_waiting;
    out["dead_waiters"] = lock.dead_waiters;
    out["blocked_ms"] = optional_ms(lock.blocked_for);
    out["bytes"] = lock.layout == "foreign string" ? nlohmann::ordered_json(lock.bytes)
                                                   : nlohmann::ordered_json(nullptr);
    out["last_fence"] =
        lock.last_fence ? nlohmann::ordered_json(*lock.last_fence) : nlohmann::ordered_json(nullptr);
    return out;
}

std::string json_text(const std::string& bytes) { return is_utf8(bytes) ? bytes : base::printable(bytes); }

std::string iso_time(system_clock::time_point t) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(t);
    const auto ms = std::chrono::floor<milliseconds>(t - seconds).count();
    return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(system_clock::to_time_t(seconds)), ms);
}

std::string one_line(const nlohmann::ordered_json& value) {
    return base::json_without_controls(
        value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace holdfast::cli
