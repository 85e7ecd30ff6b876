#include "backends/zookeeper/semaphores_seen.hpp"

#include "backends/zookeeper/node_data.hpp"
#include "base/clock.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::zookeeper_backend {

using namespace backend;
using zookeeper::session;

namespace {

constexpr std::string_view in_permits = "leases/";
constexpr std::string_view in_line = "locks/";

void append_children(std::vector<child>& to, std::string_view prefix, std::span<const std::string> names) {
    const auto from = to.size();
    for (const auto& name : names) {
        to.push_back(parse_child(name));
        to.back().name.insert(0, prefix);
    }
    std::sort(to.begin() + static_cast<std::ptrdiff_t>(from), to.end(),
              [](const child& a, const child& b) { return a.number < b.number; });
}

// As lease::owner() shows it.
std::string owner_of_permits(const holder_info& h, kind of) {
    if (of != kind::permit_semaphore) return h.owner;
    auto id = h.owner;
    std::erase(id, '-');
    return h.holds > 1 ? id + '*' + std::to_string(h.holds) : id;
}

}  // namespace

std::vector<child> nodes_of(const semaphore_seen& s) {
    std::vector<child> all;
    append_children(all, in_permits, s.held());
    append_children(all, in_line, s.line);
    return all;
}

lock_info describe(const lock_name& name, const semaphore_seen& s,
                   const std::map<std::string, seen_child>& seen, std::int64_t now) {
    lock_info info{name, "free", false, {}, {}, {}, {}, {}};
    if (const auto total = s.total()) {
        info.count = *total - s.out();
        info.layout = type_name(s.count->count->of);
        info.ours = true;
    }
    std::map<std::string, std::size_t> places;  // of the holders, by the UUID in their names
    std::vector<std::optional<node_data>> data;
    for (auto c : nodes_of(s)) {
        const auto it = seen.find(c.name);
        const auto* const content = it == seen.end() ? nullptr : &it->second;
        const bool waits = c.name.starts_with(in_line);
        c.name.erase(0, waits ? in_line.size() : in_permits.size());
        if (waits) {
            if (info.queue.size() == most_waiters)
                ++info.more_waiting;
            else
                info.queue.push_back(waiter_of(c, content, now));
            continue;
        }
        const auto [known, is_new] = places.emplace(owner_in(c.name), info.holders.size());
        if (!is_new) {
            ++info.holders[known->second].holds;
            continue;
        }
        info.holders.push_back(holder_of(c, content));
        info.holders.back().holds = 1;
        data.push_back(content != nullptr ? parse_node_data(content->content.data) : std::nullopt);
    }
    for (std::size_t i = 0; i < data.size(); ++i) {
        auto& h = info.holders[i];
        if (data[i]) h.owner = owner_of_permits(h, data[i]->of);
        if (i != 0) continue;
        info.ours = data[i].has_value();
        info.layout = data[i] ? std::string{type_name(data[i]->of)} : "Curator InterProcessSemaphoreV2";
    }
    if (info.holders.size() > most_holders) {
        info.more_holders = info.holders.size() - most_holders;
        info.holders.resize(most_holders);
    }
    return info;
}

void read_semaphore_info(const std::shared_ptr<session>& with, const semaphore_paths& at,
                         const lock_name& name, time_point deadline,
                         std::function<void(result<lock_info>)> done) {
    read_semaphore(with, at, kind::semaphore, zookeeper::watch::no, deadline,
                   [=, done = std::move(done)](result<semaphore_seen> found) {
                       if (auto* const why = std::get_if<failure>(&found)) return done(std::move(*why));
                       const auto s = std::make_shared<semaphore_seen>(std::move(std::get<0>(found)));
                       auto nodes = nodes_of(*s);
                       nodes.resize(std::min(nodes.size(), most_holders + most_waiters));
                       read_nodes(
                           with, at.directory, nodes, deadline,
                           [s, name, done](result<std::map<std::string, seen_child>> seen) {
                               if (auto* const why = std::get_if<failure>(&seen))
                                   return done(std::move(*why));
                               done(describe(name, *s, std::get<0>(seen), base::wall_microseconds() / 1000));
                           });
                   });
}

void find_permits(const std::shared_ptr<session>& with, const semaphore_paths& at, time_point deadline,
                  std::function<void(result<std::vector<held_node>>)> done) {
    read_semaphore(with, at, kind::semaphore, zookeeper::watch::no, deadline,
                   [at, done = std::move(done)](result<semaphore_seen> found) {
                       if (auto* const why = std::get_if<failure>(&found)) return done(std::move(*why));
                       std::vector<held_node> held;
                       for (const auto& name : std::get<0>(found).held())
                           held.push_back({uuid_of(owner_in(name)), at.permits + '/' + name});
                       done(std::move(held));
                   });
}

}  // namespace holdfast::zookeeper_backend
