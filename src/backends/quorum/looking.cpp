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

// What all say but so many servers; who knows nothing of the lock may be left out of `seen`.
lock_info joined(const lock_name& name, std::vector<sight> seen, std::size_t unheard, std::size_t members) {
    const auto needed = engine::majority_of(members);
    std::map<std::string, engine::member_set> votes;
    std::size_t best = 0;
    for (const auto& [info, server] : seen) {
        for (const auto& h : info.holders) best = std::max(best, votes[h.owner].set(server).count());
    }
    const auto without = best + unheard >= needed ? of_unheard : of_no_majority;
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
            if (!most && (all.layout == "mutex" || all.layout == "recursive_mutex")) all.layout += without;
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

void list(const std::shared_ptr<council>& c, const std::string& glob, time_point deadline,
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
                    auto& seen = by_name[info.name];
                    seen.push_back({std::move(info), said.servers[i]});
                }
            }
            infos all;
            for (auto& [name, seen] : by_name)
                all.push_back(joined(name, std::move(seen), unheard, said.of.size()));
            return all;
        },
        [&](std::size_t i, auto hear) { c->store(i).list(glob, until, std::move(hear)); });
}

void evict(const std::shared_ptr<council>& c, const lock_name& name, time_point deadline,
           handler<result<bool>> done) {
    const auto until = soon(*c, deadline);
    gather<bool>(
        c, std::move(done),
        [](const answers<bool>& said) {
            return std::any_of(said.of.begin(), said.of.end(),
                               [](const auto& s) { return s.value_or(false); });
        },
        [&](std::size_t i, auto hear) { c->store(i).evict(name, until, std::move(hear)); });
}

}  // namespace holdfast::quorum_backend
