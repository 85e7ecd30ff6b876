#include "backends/zookeeper/locks_seen.hpp"

#include "backends/zookeeper/answers.hpp"
#include "backends/zookeeper/latch_data.hpp"
#include "backends/zookeeper/node_data.hpp"
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

constexpr std::size_t most_holders = 1'000;
constexpr std::size_t most_waiters = 100;

// Whose node it is, as far as its name tells.
std::string layout_of_foreign(const child& c) {
    const bool curator = owner_in(c.name) != c.name;
    switch (c.is) {
        case role::mutex: return curator ? "Curator InterProcessMutex" : "foreign lock (go-zk or another)";
        case role::reader:
        case role::writer: return curator ? "Curator InterProcessReadWriteLock" : "foreign read/write lock";
        case role::kazoo: return "kazoo lock";
        case role::other: break;
    }
    return c.name == "locks" || c.name == "leases" ? "Curator InterProcessSemaphoreV2" : "foreign nodes";
}

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

void read_latch(const std::shared_ptr<session>& with, const std::string& path, const lock_name& name,
                time_point deadline, const std::function<void(result<lock_info>)>& done) {
    std::vector<session::call> read;
    read.push_back({zookeeper::get_data(path, zookeeper::watch::no), [path, name, done](const answer& a) {
                        lock_info info{name, "free", false, {}, {}, {}, {}, {}};
                        if (a.is(code::no_node)) return done(std::move(info));
                        const auto node = a.ok() ? zookeeper::parse_data(a.body) : std::nullopt;
                        if (!node) return done(failure_of(a, path));
                        if (const auto r = parse_latch_data(node->data); r && r->count) {
                            info.layout = type_name(kind::latch);
                            info.ours = true;
                            info.count = r->count->value;
                        }
                        done(std::move(info));
                    }});
    with->submit(std::move(read), deadline);
}

}  // namespace

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
        if (all.others.front().is == role::kazoo)
            info.holders.push_back(holder_of(all.others.front(), content(all.others.front())));
    }
    for (const auto& c : all.waiters) {
        if (info.queue.size() == most_waiters) {
            ++info.more_waiting;
            continue;
        }
        auto h = holder_of(c, content(c));
        waiter_info w{std::move(h.owner), std::move(h.host), h.pid, std::nullopt};
        if (const auto* const s = content(c))
            w.waiting = std::max(milliseconds{0}, milliseconds{now - s->content.about.ctime});
        info.queue.push_back(std::move(w));
    }
    return info;
}

void read_lock(const std::shared_ptr<session>& with, const paths& where, const lock_name& name, holders_shown,
               time_point deadline, std::function<void(result<lock_info>)> done) {
    struct reading {
        listing all;
        std::map<std::string, seen_child> seen;
        std::function<void(result<lock_info>)> done;
    };
    const auto directory = where.of(name);
    read_children(
        with, directory, deadline,
        [with, directory, name, deadline, done = std::move(done)](result<zookeeper::children> found) {
            if (auto* const why = std::get_if<failure>(&found)) return done(std::move(*why));
            if (may_be_latch(std::get<0>(found).about))
                return read_latch(with, directory, name, deadline, done);
            const auto r = std::make_shared<reading>();
            r->all = sorted(std::get<0>(found).names);
            r->done = done;
            std::vector<child> chosen;
            const auto choose = [&](const std::vector<child>& from, std::size_t most) {
                chosen.insert(chosen.end(), from.begin(),
                              from.begin() + static_cast<std::ptrdiff_t>(std::min(most, from.size())));
            };
            choose(r->all.holders, most_holders);
            choose(r->all.waiters, most_waiters);
            choose(r->all.others, 1);
            const auto finish = [r, name] {
                const auto now = base::wall_microseconds() / 1000;
                r->done(describe(name, r->all, r->seen, now));
            };
            if (chosen.empty()) return finish();
            std::vector<session::call> reads;
            for (std::size_t i = 0; i < chosen.size(); ++i) {
                reads.push_back(
                    {zookeeper::get_data(directory + '/' + chosen[i].name, zookeeper::watch::no),
                     [r, c = chosen[i], last = i + 1 == chosen.size(), finish, directory](const answer& a) {
                         if (auto data = a.ok() ? zookeeper::parse_data(a.body) : std::nullopt)
                             r->seen.emplace(c.name, seen_child{c, std::move(*data)});
                         if (!last) return;
                         if (a.how != answer::outcome::answered) return r->done(failure_of(a, directory));
                         finish();
                     }});
            }
            with->submit(std::move(reads), deadline);
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
                          if (!info.holders.empty() || info.count) self->found.push_back(std::move(info));
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
                  time_point deadline, std::function<void(result<std::vector<child>>)> done) {
    read_children(with, where.of(name), deadline,
                  [done = std::move(done)](result<zookeeper::children> found) {
                      if (auto* const why = std::get_if<failure>(&found)) return done(std::move(*why));
                      done(sorted(std::get<0>(found).names).holders);
                  });
}

}  // namespace holdfast::zookeeper_backend
