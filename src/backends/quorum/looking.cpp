#include "backends/quorum/looking.hpp"

#include "backends/quorum/objections.hpp"
#include "backends/quorum/poll.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::quorum_backend {

namespace {

using namespace backend;

constexpr std::string_view of_no_majority = " without a majority";
// Members that did not answer may make it one.
constexpr std::string_view of_unheard = ", perhaps with a majority";

// What members say; who said nothing, or will not, has none.
template <class T>
struct answers {
    explicit answers(std::size_t members) : of(members), servers(members) {}

    // Servers, by the numbers that the members have.
    [[nodiscard]] engine::member_set heard() const {
        engine::member_set found;
        for (std::size_t i = 0; i < of.size(); ++i)
            if (of[i]) found.set(servers[i]);
        return found;
    }
    [[nodiscard]] engine::member_set unheard() const {
        engine::member_set found;
        for (const auto server : servers) found.set(server);
        return found & ~heard();
    }

    std::vector<std::optional<T>> of;
    std::vector<std::size_t> servers;
};

template <class T>
class gathering {
  public:
    gathering(std::vector<std::string> members, callback<void(answers<T>, failure)> done)
        : members_(std::move(members)),
          said_(members_.size()),
          open_(members_.size()),
          done_(std::move(done)) {}

    bool add(std::size_t who, std::size_t server, result<T> one) {
        said_.servers[who] = server;
        if (auto* good = std::get_if<T>(&one))
            said_.of[who] = std::move(*good);
        else
            objections_.add(members_[who], std::get<failure>(one));
        return --open_ == 0;
    }
    void tell() { done_(std::move(said_), {objections_.gravest(), objections_.text()}); }

  private:
    const std::vector<std::string> members_;
    answers<T> said_;
    std::size_t open_;
    objections objections_;
    callback<void(answers<T>, failure)> done_;
};

// A member that is gone is not waited for as long as a lone server.
time_point soon(const council& c, time_point deadline) {
    return std::min(deadline, boot_clock::now() + std::max(10 * c.wanted.node_timeout, milliseconds{500}));
}

// Has `put` ask all members, and lets `join` make one answer of theirs; those of too few are none.
template <class T, class Joined, class Join, class Put>
void gather(const std::shared_ptr<council>& c, handler<result<Joined>> done, Join join, Put put) {
    auto judge = [c, done = std::move(done), join = std::move(join)](answers<T> said, failure why) {
        const auto members = said.of.size();
        const auto needed = engine::majority_of(members);
        const auto heard = said.heard();
        if (heard.count() < needed) {
            const auto doubles = c->doubles();
            if ((heard | said.unheard()).count() < needed) why.code = errc::invalid_argument;
            why.text = std::to_string(heard.count()) + " of " + std::to_string(members) +
                       " members have answered, and " + std::to_string(needed) + " must: " + doubles +
                       (doubles.empty() || why.text.empty() ? "" : "; ") + why.text;
            return done(std::move(why));
        }
        done(join(std::move(said)));
    };
    std::vector<std::string> members;
    for (std::size_t i = 0; i < c->size(); ++i) members.push_back(base::printable(c->address(i)));
    ask_all<result<T>>(std::make_shared<poll<gathering<T>>>(c, std::move(members), std::move(judge)), put);
}

struct sight {
    lock_info info;
    std::size_t server;
};

// Redisson's RedLock and MultiLock use a Redisson client of its own for each member, so each member knows an
// owner of its own, where ours has one for all. These owners may hold one lock together, or be different
// holders: the store cannot tell. Returns how many members are held so; 0 if that is fewer than `needed` or
// one of the owners is ours.
std::size_t held_by_an_owner_each(const std::vector<sight>& seen, std::size_t needed) {
    engine::member_set held;
    for (const auto& [info, server] : seen) {
        if (info.layout == "free") continue;
        if (info.layout != "recursive_mutex" || info.ours || info.holders.size() != 1) return 0;
        held.set(server);
    }
    return held.count() < needed ? 0 : held.count();
}

// What all say but so many servers; who knows nothing of the lock may be left out of `seen`.
lock_info joined(const lock_name& name, std::vector<sight> seen, std::size_t unheard, std::size_t members) {
    const auto needed = engine::majority_of(members);
    std::map<std::string, engine::member_set> votes;
    std::size_t best = 0;
    for (const auto& [info, server] : seen) {
        for (const auto& h : info.holders) best = std::max(best, votes[h.owner].set(server).count());
    }
    const auto without = best + unheard >= needed ? of_unheard : of_no_majority;
    const auto together = best == 1 && needed > 1 ? held_by_an_owner_each(seen, needed) : 0;
    lock_info all{name, "free"};
    bool settled = false;
    for (auto& one : seen) {
        auto& info = one.info;
        if (info.last_fence > all.last_fence) all.last_fence = info.last_fence;
        if (info.layout == "free" || settled) continue;
        const bool most = std::any_of(info.holders.begin(), info.holders.end(),
                                      [&](const auto& h) { return votes[h.owner].count() >= needed; });
        if (most || all.layout == "free") {
            const auto fence = all.last_fence;
            all = std::move(info);
            all.last_fence = std::max(fence, all.last_fence);
            all.queue.clear();
            all.more_waiting = 0;
            if (together > 0)
                all.layout += ", an owner each on " + std::to_string(together) + " of " +
                              std::to_string(members) + " members";
            else if (!most && (all.layout == "mutex" || all.layout == "recursive_mutex"))
                all.layout += without;
            settled = most;
        } else {
            all.holders.insert(all.holders.end(), info.holders.begin(), info.holders.end());
        }
    }
    if (!settled) {
        const auto by_owner = [](const auto& a, const auto& b) { return a.owner < b.owner; };
        const auto same = [](const auto& a, const auto& b) { return a.owner == b.owner; };
        std::sort(all.holders.begin(), all.holders.end(), by_owner);
        all.holders.erase(std::unique(all.holders.begin(), all.holders.end(), same), all.holders.end());
    }
    return all;
}

}  // namespace

void inspect(const std::shared_ptr<council>& c, const lock_name& name, time_point deadline,
             handler<result<lock_info>> done) {
    const auto until = soon(*c, deadline);
    gather<lock_info>(
        c, std::move(done),
        [name](answers<lock_info> said) {
            const auto unheard = said.unheard().count();
            std::vector<sight> seen;
            for (std::size_t i = 0; i < said.of.size(); ++i)
                if (said.of[i]) seen.push_back({std::move(*said.of[i]), said.servers[i]});
            return joined(name, std::move(seen), unheard, said.of.size());
        },
        [&](std::size_t i, auto hear) { c->store(i).inspect(name, until, std::move(hear)); });
}

void list(const std::shared_ptr<council>& c, const std::string& glob, listed which, time_point deadline,
          handler<result<std::vector<lock_info>>> done) {
    using infos = std::vector<lock_info>;
    const auto until = soon(*c, deadline);
    gather<infos>(
        c, std::move(done),
        [](answers<infos> said) {
            const auto unheard = said.unheard().count();
            std::map<lock_name, std::vector<sight>> by_name;
            for (std::size_t i = 0; i < said.of.size(); ++i) {
                if (!said.of[i]) continue;
                for (auto& info : *said.of[i]) {
                    if (info.layout == "free") continue;  // with a line: no lock of a redlock has one
                    auto& seen = by_name[info.name];
                    seen.push_back({std::move(info), said.servers[i]});
                }
            }
            infos all;
            for (auto& [name, seen] : by_name)
                all.push_back(joined(name, std::move(seen), unheard, said.of.size()));
            return all;
        },
        [&](std::size_t i, auto hear) { c->store(i).list(glob, which, until, std::move(hear)); });
}

void ask_to_give_up(const std::shared_ptr<council>& c, const lock_name& name, const holder_info& of,
                    time_point deadline, handler<result<asked>> done) {
    const auto until = soon(*c, deadline);
    gather<asked>(
        c, std::move(done),
        [](const answers<asked>& said) {
            asked all{false, 0, milliseconds{0}};
            for (const auto& one : said.of) {
                all.gave_up = all.gave_up || (one && one->gave_up);
                if (!one || !one->holds) continue;
                all.holds = true;
                all.listeners = std::max(all.listeners, one->listeners);
                // Empty stands for a lease without an end, which is the longest.
                all.left = all.left && one->left ? std::max(all.left, one->left) : std::nullopt;
            }
            return all;
        },
        [&](std::size_t i, auto hear) { c->store(i).ask_to_give_up(name, of, until, std::move(hear)); });
}

void evict(const std::shared_ptr<council>& c, const lock_name& name, const std::vector<std::string>& owners,
           time_point deadline, handler<result<std::vector<evicted>>> done) {
    using all_of = std::vector<evicted>;
    const auto until = soon(*c, deadline);
    gather<all_of>(
        c, std::move(done),
        [](const answers<all_of>& said) {
            all_of all;
            for (const auto& one : said.of)
                if (one) all.insert(all.end(), one->begin(), one->end());
            return all;
        },
        [&](std::size_t i, auto hear) { c->store(i).evict(name, owners, until, std::move(hear)); });
}

}  // namespace holdfast::quorum_backend
