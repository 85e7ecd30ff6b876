#include "backends/file/describe.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::file_backend {

namespace {

using namespace backend;

constexpr std::string_view process = "process ";

std::uint32_t count_of(const owner_number& owner, const std::vector<mark>& all) {
    for (unsigned choice = 0; choice < choices; ++choice) {
        const auto place = mark_of_count(owner, 1, choice);
        for (const auto& m : all)
            if (m.is == mark::meaning::count && m.range.start == place.start)
                return static_cast<std::uint32_t>(m.range.length);
    }
    return 1;
}

// The kernel names the process that has locked the file. Its child may have the lock when it has ended.
std::string called(std::int64_t pid, const surroundings& around) {
    return std::string{process} + std::to_string(pid) +
           (around.is_a_process(pid) ? "" : " (ended; a process that it started has the file open)");
}

}  // namespace

lock_info describe(const lock_name& name, const locks_of_file& locks, const surroundings& around) {
    lock_info info{name, "free", true, {}, {}, {}, {}, {}};
    auto others = locks.held;
    const auto account_for = [&others](std::int64_t pid) {
        const auto it =
            std::find_if(others.begin(), others.end(), [&](const auto& o) { return o.pid == pid; });
        if (it != others.end()) others.erase(it);
        return it != others.end();
    };
    std::vector<std::size_t> unknown;  // holders of which only the mark is known
    for (const auto& m : locks.marks) {
        if (m.is == mark::meaning::count) continue;
        const auto owner = text_of(m.owner);
        const auto who = around.peer_of(owner.substr(0, owner.find('|')));
        const std::int64_t pid = who ? who->pid : 0;
        if (m.is == mark::meaning::waiter) {
            info.queue.push_back({owner, {}, pid, std::nullopt});
            continue;
        }
        info.layout = type_name(m.of);
        holder_info holder{owner, count_of(m.owner, locks.marks), m.of == kind::shared_write, {}, pid};
        if (who) {
            const bool there = around.reaches(*who);
            const bool gone = pid > 0 && !around.is_a_process(pid);
            holder.client = there ? presence::connected : gone ? presence::gone : presence::unknown;
            if (there) holder.ask_at = who->socket;
        }
        if (pid == 0)
            unknown.push_back(info.holders.size());
        else
            (void)account_for(pid);
        info.holders.push_back(std::move(holder));
    }
    // In the same pid namespace the kernel shows a process for each of them.
    for (const auto at : unknown) {
        if (others.size() != unknown.size()) break;
        info.holders[at].pid = others.front().pid;
        (void)account_for(others.front().pid);
    }
    if (!unknown.empty() && others.size() <= unknown.size()) others.clear();
    for (const auto& o : others) {
        if (info.holders.empty()) {
            info.layout = "foreign flock";
            info.ours = false;
        }
        info.holders.push_back({called(o.pid, around), 1, false, {}, o.pid});
    }
    for (const auto& b : locks.blocked)
        info.queue.push_back({std::string{process} + std::to_string(b.pid), {}, b.pid, std::nullopt});
    return info;
}

std::int64_t permits_out(const lock_info& info) {
    std::int64_t all = 0;
    for (const auto& h : info.holders)
        if (!is_foreign(h.owner)) all += h.holds;
    return all;
}

bool is_foreign(const std::string& owner) { return !number_of(owner); }

}  // namespace holdfast::file_backend
