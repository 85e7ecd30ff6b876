#include "backends/zookeeper/locks_seen.hpp"

#include "backends/zookeeper/answers.hpp"
#include "backends/zookeeper/count_data.hpp"
#include "backends/zookeeper/fence_data.hpp"
#include "backends/zookeeper/node_data.hpp"
#include "backends/zookeeper/semaphores_seen.hpp"
#include "base/clock.hpp"
#include "base/text.hpp"
#include "engine/kinds.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::zookeeper_backend {

using namespace backend;
using zookeeper::answer;
using zookeeper::code;
using zookeeper::session;

namespace {

// Whose node it is, as far as its name tells.
std::string layout_of_foreign(const child& c) {
    const bool curator = c.name.starts_with("_c_") && owner_in(c.name) != c.name;
    switch (c.is) {
        case role::mutex:
            if (owner_in(c.name) == c.name) return "foreign lock (go-zk or another)";
            return curator ? "Curator InterProcessMutex" : "kazoo lock";
        case role::reader:
        case role::writer: return curator ? "Curator InterProcessReadWriteLock" : "foreign read/write lock";
        case role::unseen:
            if (c.name.find("__lock__") != std::string::npos || c.name.find("__rlock__") != std::string::npos)
                return "kazoo lock";
            return curator ? "Curator InterProcessMutex" : "foreign lock (go-zk or another)";
        case role::permit:
        case role::other: break;
    }
    return "foreign nodes";
}

void read_children(const std::shared_ptr<session>& with, const std::string& directory, time_point deadline,
                   std::function<void(result<zookeeper::children>)> done) {
    std::vector<session::call> both;
    both.push_back({zookeeper::sync(directory), [](const answer&) {}});
    both.push_back({zookeeper::get_children(directory, zookeeper::watch::no),
                    [directory, done = std::move(done)](const answer& a) {
                        if (a.is(code::no_node)) return done(zookeeper::children{});
                        auto found = a.ok() ? zookeeper::parse_children(a.body) : std::nullopt;
                        if (!found) return done(failure_of(a, directory));
                        done(*std::move(found));
                    }});
    with->submit(std::move(both), deadline);
}

// What a fenced lock has written down (contention_fences.cpp), if anything.
void read_last_fence(const std::shared_ptr<session>& with, const std::string& path, time_point deadline,
                     std::function<void(std::optional<std::uint64_t>)> done) {
    std::vector<session::call> read;
    read.push_back(
        {zookeeper::get_data(path, zookeeper::watch::no), [done = std::move(done)](const answer& a) {
             const auto node = a.ok() ? zookeeper::parse_data(a.body) : std::nullopt;
             done(node ? parse_fence_data(node->data) : std::nullopt);
         }});
    with->submit(std::move(read), deadline);
}

void read_latch(const std::shared_ptr<session>& with, const std::string& path, const lock_name& name,
                time_point deadline, const std::function<void(result<lock_info>)>& done) {
    std::vector<session::call> read;
    read.push_back({zookeeper::get_data(path, zookeeper::watch::no), [path, name, done](const answer& a) {
                        lock_info info{name, "free", false, {}, {}, {}, {}, {}};
                        if (a.is(code::no_node)) return done(std::move(info));
                        const auto node = a.ok() ? zookeeper::parse_data(a.body) : std::nullopt;
                        if (!node) return done(failure_of(a, path));
                        if (const auto r = parse_count_data(node->data, kind::latch); r && r->count) {
                            info.layout = type_name(kind::latch);
                            info.ours = true;
                            info.count = r->count->value;
                        }
                        done(std::move(info));
                    }});
    with->submit(std::move(read), deadline);
}

}  // namespace

holder_info holder_of(const child& c, const seen_child* seen) {
    holder_info h;
    h.owner = owner_in(c.name);
    h.writes = c.is == role::writer;
    if (seen == nullptr) return h;
    h.since = std::chrono::system_clock::time_point{milliseconds{seen->content.about.ctime}};
    // An ephemeral node lives as long as the session of its client.
    if (seen->content.about.ephemeral_owner != 0) h.client = presence::connected;
    if (const auto ours = parse_node_data(seen->content.data)) {
        h.host = ours->host;
        h.pid = ours->pid;
        h.holds = ours->holds;
        h.ask_at = seen->node.name;
    } else if (seen->content.data.size() < 64) {
        h.host = base::printable(seen->content.data);  // Curator's clients write their address
    }
    return h;
}

waiter_info waiter_of(const child& c, const seen_child* seen, std::int64_t now) {
    auto h = holder_of(c, seen);
    waiter_info w{std::move(h.owner), std::move(h.host), h.pid, std::nullopt};
    if (seen != nullptr) w.waiting = std::max(milliseconds{0}, milliseconds{now - seen->content.about.ctime});
    return w;
}

void read_nodes(const std::shared_ptr<session>& with, const std::string& directory,
                const std::vector<child>& which, time_point deadline,
                std::function<void(result<std::map<std::string, seen_child>>)> done) {
    using nodes = std::map<std::string, seen_child>;
    if (which.empty()) return done(nodes{});
    const auto found = std::make_shared<nodes>();
    const auto then = std::make_shared<std::function<void(result<nodes>)>>(std::move(done));
    std::vector<session::call> reads;
    for (std::size_t i = 0; i < which.size(); ++i) {
        reads.push_back({zookeeper::get_data(directory + '/' + which[i].name, zookeeper::watch::no),
                         [=, c = which[i], last = i + 1 == which.size()](const answer& a) {
                             if (auto data = a.ok() ? zookeeper::parse_data(a.body) : std::nullopt)
                                 found->emplace(c.name, seen_child{c, std::move(*data)});
                             if (!last) return;
                             if (a.how != answer::outcome::answered) return (*then)(failure_of(a, directory));
                             (*then)(std::move(*found));
                         }});
    }
    with->submit(std::move(reads), deadline);
}

lock_info describe(const lock_name& name, const listing& all, const std::map<std::string, seen_child>& seen,
                   std::int64_t now) {
    lock_info info{name, "free", false, {}, {}, {}, {}, {}};
    const auto content = [&](const child& c) {
        const auto it = seen.find(c.name);
        return it == seen.end() ? nullptr : &it->second;
    };
    for (const auto& c : all.holders) {
        if (info.holders.size() == most_holders) {
            ++info.more_holders;
            continue;
        }
        info.holders.push_back(holder_of(c, content(c)));
    }
    if (!all.holders.empty()) {
        const auto& first = all.holders.front();
        const auto* const s = content(first);
        const auto ours = s != nullptr ? parse_node_data(s->content.data) : std::nullopt;
        info.ours = ours.has_value();
        info.layout = ours ? std::string{type_name(ours->of)} : layout_of_foreign(first);
        if (ours && engine::rules_of(ours->of).fenced)
            info.last_fence = static_cast<std::uint64_t>(s->content.about.czxid);
    } else if (!all.others.empty()) {
        info.layout = layout_of_foreign(all.others.front());
        if (all.others.front().is == role::unseen)
            info.holders.push_back(holder_of(all.others.front(), content(all.others.front())));
    }
    for (const auto& c : all.waiters) {
        if (info.queue.size() == most_waiters) {
            ++info.more_waiting;
            continue;
        }
        info.queue.push_back(waiter_of(c, content(c), now));
    }
    return info;
}

void read_lock(const std::shared_ptr<session>& with, const paths& where, const lock_name& name, holders_shown,
               time_point deadline, std::function<void(result<lock_info>)> done) {
    const auto directory = where.of(name);
    read_children(with, directory, deadline,
                  [with, directory, name, deadline, by = where.names(), fence_path = where.of_fence(name),
                   done = std::move(done)](result<zookeeper::children> found) {
                      if (auto* const why = std::get_if<failure>(&found)) return done(std::move(*why));
                      const auto& children = std::get<0>(found);
                      if (may_be_latch(children.about))
                          return read_latch(with, directory, name, deadline, done);
                      if (is_directory_of_semaphore(children.names))
                          return read_semaphore_info(with, semaphore_paths{directory}, name, deadline, done);
                      const auto all = std::make_shared<listing>(sorted(children.names, by));
                      std::vector<child> chosen;
                      const auto choose = [&](const std::vector<child>& from, std::size_t most) {
                          chosen.insert(
                              chosen.end(), from.begin(),
                              from.begin() + static_cast<std::ptrdiff_t>(std::min(most, from.size())));
                      };
                      choose(all->holders, most_holders);
                      choose(all->waiters, most_waiters);
                      choose(all->others, 1);
                      read_nodes(with, directory, chosen, deadline,
                                 [with, fence_path, deadline, all, name,
                                  done](result<std::map<std::string, seen_child>> seen) {
                                     if (auto* const why = std::get_if<failure>(&seen))
                                         return done(std::move(*why));
                                     const auto now = base::wall_microseconds() / 1000;
                                     auto info = describe(name, *all, std::get<0>(seen), now);
                                     if (!all->holders.empty() && !info.last_fence)
                                         return done(std::move(info));
                                     read_last_fence(with, fence_path, deadline,
                                                     [info, done](std::optional<std::uint64_t> last) mutable {
                                                         if (last) info.last_fence = *last;
                                                         done(std::move(info));
                                                     });
                                 });
                  });
}

void list_locks(const std::shared_ptr<session>& with, const paths& where, const std::string& glob,
                time_point deadline, std::function<void(result<std::vector<lock_info>>)> done) {
    struct listing_run : std::enable_shared_from_this<listing_run> {
        std::shared_ptr<session> with;
        const paths* where = nullptr;
        time_point deadline{};
        std::function<void(result<std::vector<lock_info>>)> done;
        std::vector<lock_name> left;
        std::vector<lock_info> found;

        void go_on() {
            if (left.empty()) return done(std::move(found));
            const auto name = left.back();
            left.pop_back();
            read_lock(with, *where, name, holders_shown::some, deadline,
                      [self = shared_from_this()](result<lock_info> one) {
                          if (auto* const why = std::get_if<failure>(&one))
                              return self->done(std::move(*why));
                          auto& info = std::get<lock_info>(one);
                          const bool latch = info.layout == type_name(kind::latch);
                          if (!info.holders.empty() || latch) self->found.push_back(std::move(info));
                          self->go_on();
                      });
        }
    };
    read_children(with, where.base(), deadline,
                  [=, done = std::move(done), where = &where](result<zookeeper::children> names) {
                      if (auto* const why = std::get_if<failure>(&names)) return done(std::move(*why));
                      const auto run = std::make_shared<listing_run>();
                      run->with = with;
                      run->where = where;
                      run->deadline = deadline;
                      run->done = done;
                      for (const auto& element : std::get<0>(names).names) {
                          const auto name = unescaped(element);
                          if (name && !name->empty() && name->size() <= lock_name::max_size &&
                              base::glob_match(glob, *name))
                              run->left.emplace_back(*name);
                      }
                      std::sort(run->left.begin(), run->left.end(), std::greater<>{});
                      run->go_on();
                  });
}

void find_holders(const std::shared_ptr<session>& with, const paths& where, const lock_name& name,
                  time_point deadline, std::function<void(result<std::vector<held_node>>)> done) {
    const auto directory = where.of(name);
    read_children(with, directory, deadline,
                  [with, directory, deadline, by = where.names(),
                   done = std::move(done)](result<zookeeper::children> found) {
                      if (auto* const why = std::get_if<failure>(&found)) return done(std::move(*why));
                      const auto& names = std::get<0>(found).names;
                      if (is_directory_of_semaphore(names))
                          return find_permits(with, semaphore_paths{directory}, deadline, done);
                      std::vector<held_node> held;
                      for (const auto& c : sorted(names, by).holders)
                          held.push_back({uuid_of(owner_in(c.name)), directory + '/' + c.name});
                      done(std::move(held));
                  });
}

}  // namespace holdfast::zookeeper_backend
