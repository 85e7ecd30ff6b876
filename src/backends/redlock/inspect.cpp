#include "backends/redlock/inspect.hpp"

#include "backends/redlock/fan_out.hpp"
#include "backends/redlock/member_errors.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::redlock_backend {

namespace {

using namespace backend;

constexpr std::string_view without_majority = " without a majority";
// The members that did not answer could make a majority.
constexpr std::string_view perhaps_with_majority = ", perhaps with a majority";

// The answers of the members; empty for a member that did not answer.
template <class T>
struct answers {
    explicit answers(std::size_t members) : of(members), servers(members) {}

    // Servers, by their numbers in distinct_servers.
    [[nodiscard]] engine::member_set answered() const {
        engine::member_set found;
        for (std::size_t i = 0; i < of.size(); ++i)
            if (of[i]) found.set(servers[i]);
        return found;
    }
    [[nodiscard]] engine::member_set silent() const {
        engine::member_set found;
        for (const auto server : servers) found.set(server);
        return found & ~answered();
    }

    std::vector<std::optional<T>> of;
    std::vector<std::size_t> servers;
};

template <class T>
class joint_answer {
  public:
    joint_answer(std::vector<std::string> members, callback<void(answers<T>, failure)> done)
        : members_(std::move(members)),
          said_(members_.size()),
          open_(members_.size()),
          done_(std::move(done)) {}

    bool add(std::size_t who, std::size_t server, result<T> one) {
        said_.servers[who] = server;
        if (auto* good = std::get_if<T>(&one))
            said_.of[who] = std::move(*good);
        else
            errors_.add(members_[who], std::get<failure>(one));
        return --open_ == 0;
    }
    void finish() { done_(std::move(said_), {errors_.worst(), errors_.text()}); }

  private:
    const std::vector<std::string> members_;
    answers<T> said_;
    std::size_t open_;
    member_errors errors_;
    callback<void(answers<T>, failure)> done_;
};

// The wait for a member that is gone is shorter than for a single server.
time_point soon(const members& redlock, time_point deadline) {
    return std::min(deadline,
                    boot_clock::now() + std::max(10 * redlock.wanted.node_timeout, milliseconds{500}));
}

// Asks all members by `put` and makes one answer of theirs by `join`. Too few answers are a failure.
template <class T, class Joined, class Join, class Put>
void ask_and_join(const std::shared_ptr<members>& redlock, handler<result<Joined>> done, Join join, Put put) {
    auto judge = [redlock, done = std::move(done), join = std::move(join)](answers<T> replies, failure why) {
        const auto members = replies.of.size();
        const auto needed = engine::majority_of(members);
        const auto answered = replies.answered();
        if (answered.count() < needed) {
            const auto same_servers = redlock->same_servers();
            if ((answered | replies.silent()).count() < needed) why.code = errc::invalid_argument;
            why.text = std::to_string(answered.count()) + " of " + std::to_string(members) +
                       " members have answered, and " + std::to_string(needed) + " must: " + same_servers +
                       (same_servers.empty() || why.text.empty() ? "" : "; ") + why.text;
            return done(std::move(why));
        }
        done(join(std::move(replies)));
    };
    std::vector<std::string> members;
    for (std::size_t i = 0; i < redlock->size(); ++i) members.push_back(base::printable(redlock->address(i)));
    ask_all<result<T>>(
        std::make_shared<fan_out<joint_answer<T>>>(redlock, std::move(members), std::move(judge)), put);
}

struct member_view {
    lock_info info;
    std::size_t server;
};

// Redisson's RedLock and MultiLock have a separate Redisson client, and so a separate owner, on each member;
// we have one owner on all. Such owners may hold one lock together or be different holders: the store cannot
// tell. Returns the number of members that are held in this way; 0 if it is below `needed` or an owner is
// ours.
std::size_t held_by_different_owners(const std::vector<member_view>& seen, std::size_t needed) {
    engine::member_set held;
    for (const auto& [info, server] : seen) {
        if (info.layout == "free") continue;
        if (info.layout != type_name(kind::recursive) || info.ours || info.holders.size() != 1) return 0;
        held.set(server);
    }
    return held.count() < needed ? 0 : held.count();
}

// Joins the views of the servers that answered; `silent` servers did not. Views without the lock may be left
// out of `seen`.
lock_info join_views(const lock_name& name, std::vector<member_view> seen, std::size_t silent,
                     std::size_t members) {
    const auto needed = engine::majority_of(members);
    std::map<std::string, engine::member_set> votes;
    std::size_t best = 0;
    for (const auto& [info, server] : seen) {
        for (const auto& h : info.holders) best = std::max(best, votes[h.owner].set(server).count());
    }
    const auto without = best + silent >= needed ? perhaps_with_majority : without_majority;
    const auto together = best == 1 && needed > 1 ? held_by_different_owners(seen, needed) : 0;
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
            else if (!most &&
                     (all.layout == type_name(kind::native) || all.layout == type_name(kind::recursive)))
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

void inspect(const std::shared_ptr<members>& redlock, const lock_name& name, holders_shown which,
             time_point deadline, handler<result<lock_info>> done) {
    const auto until = soon(*redlock, deadline);
    ask_and_join<lock_info>(
        redlock, std::move(done),
        [name](answers<lock_info> replies) {
            const auto silent = replies.silent().count();
            std::vector<member_view> seen;
            for (std::size_t i = 0; i < replies.of.size(); ++i)
                if (replies.of[i]) seen.push_back({std::move(*replies.of[i]), replies.servers[i]});
            return join_views(name, std::move(seen), silent, replies.of.size());
        },
        [&](std::size_t i, auto reply) {
            redlock->inspection_of(i).inspect(name, which, until, std::move(reply));
        });
}

void list(const std::shared_ptr<members>& redlock, const std::string& glob, listed which, time_point deadline,
          handler<result<std::vector<lock_info>>> done) {
    using infos = std::vector<lock_info>;
    const auto until = soon(*redlock, deadline);
    ask_and_join<infos>(
        redlock, std::move(done),
        [](answers<infos> replies) {
            const auto silent = replies.silent().count();
            std::map<lock_name, std::vector<member_view>> by_name;
            for (std::size_t i = 0; i < replies.of.size(); ++i) {
                if (!replies.of[i]) continue;
                for (auto& info : *replies.of[i]) {
                    if (info.layout == "free") continue;  // it has a queue, which no lock of a redlock has
                    auto& seen = by_name[info.name];
                    seen.push_back({std::move(info), replies.servers[i]});
                }
            }
            infos all;
            for (auto& [name, seen] : by_name)
                all.push_back(join_views(name, std::move(seen), silent, replies.of.size()));
            return all;
        },
        [&](std::size_t i, auto reply) {
            redlock->inspection_of(i).list(glob, which, until, std::move(reply));
        });
}

void ask_to_give_up(const std::shared_ptr<members>& redlock, const lock_name& name, const holder_info& of,
                    time_point deadline, handler<result<asked>> done) {
    const auto until = soon(*redlock, deadline);
    ask_and_join<asked>(
        redlock, std::move(done),
        [](const answers<asked>& replies) {
            asked all{false, 0, milliseconds{0}};
            for (const auto& one : replies.of) {
                all.gave_up = all.gave_up || (one && one->gave_up);
                if (!one || !one->holds) continue;
                all.holds = true;
                all.listeners = std::max(all.listeners, one->listeners);
                // Empty is a lease without an end, the longest one.
                all.left = all.left && one->left ? std::max(all.left, one->left) : std::nullopt;
            }
            return all;
        },
        [&](std::size_t i, auto reply) {
            redlock->inspection_of(i).ask_to_give_up(name, of, until, std::move(reply));
        });
}

void evict(const std::shared_ptr<members>& redlock, const lock_name& name,
           const std::vector<std::string>& owners, time_point deadline,
           handler<result<std::vector<evicted>>> done) {
    using all_of = std::vector<evicted>;
    const auto until = soon(*redlock, deadline);
    ask_and_join<all_of>(
        redlock, std::move(done),
        [](const answers<all_of>& replies) {
            all_of all;
            for (const auto& one : replies.of)
                if (one) all.insert(all.end(), one->begin(), one->end());
            return all;
        },
        [&](std::size_t i, auto reply) {
            redlock->inspection_of(i).evict(name, owners, until, std::move(reply));
        });
}

}  // namespace holdfast::redlock_backend
