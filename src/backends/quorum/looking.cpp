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

template <class T>
using answers = std::vector<std::optional<T>>;

// What all members say; who said nothing, or will not, has none.
template <class T>
class gathering {
  public:
    gathering(std::vector<std::string> members, callback<void(answers<T>, failure)> done)
        : members_(std::move(members)),
          said_(members_.size()),
          open_(members_.size()),
          done_(std::move(done)) {}

    bool add(std::size_t who, result<T> one) {
        if (auto* good = std::get_if<T>(&one))
            said_[who] = std::move(*good);
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

template <class T>
std::size_t heard(const answers<T>& said) {
    return static_cast<std::size_t>(
        std::count_if(said.begin(), said.end(), [](const auto& s) { return s.has_value(); }));
}

// Has `put` ask all members, and lets `join` make one answer of theirs; those of too few are none.
template <class T, class Joined, class Join, class Put>
void gather(const std::shared_ptr<council>& c, handler<result<Joined>> done, Join join, Put put) {
    auto judge = [done = std::move(done), join = std::move(join)](answers<T> said, failure why) {
        const auto needed = engine::majority_of(said.size());
        if (const auto n = heard(said); n < needed) {
            why.text = std::to_string(n) + " of " + std::to_string(said.size()) +
                       " members have answered, and " + std::to_string(needed) + " must: " + why.text;
            return done(std::move(why));
        }
        done(join(std::move(said)));
    };
    std::vector<std::string> members;
    for (std::size_t i = 0; i < c->size(); ++i) members.push_back(base::printable(c->address(i)));
    ask_all<result<T>>(std::make_shared<poll<gathering<T>>>(c, std::move(members), std::move(judge)), put);
}

// Whose servers have said nothing.
template <class T>
std::size_t unheard_of(council& c, const answers<T>& said) {
    std::size_t found = 0;
    for (std::size_t i = 0; i < said.size(); ++i) found += !said[i] && !c.same_as(i) ? 1 : 0;
    return found;
}

// What members say, all but those `unheard`; who knows nothing of the lock may be left out of `seen`.
lock_info joined(const lock_name& name, std::vector<lock_info> seen, std::size_t unheard,
                 std::size_t members) {
    const auto needed = engine::majority_of(members);
    std::map<std::string, std::size_t> votes;
    std::size_t best = 0;
    for (const auto& info : seen) {
        for (const auto& h : info.holders) best = std::max(best, ++votes[h.owner]);
    }
    const auto without = best + unheard >= needed ? of_unheard : of_no_majority;
    lock_info all{name, "free"};
    bool settled = false;
    for (auto& info : seen) {
        if (info.last_fence > all.last_fence) all.last_fence = info.last_fence;
        if (info.layout == "free" || settled) continue;
        const bool most = std::any_of(info.holders.begin(), info.holders.end(),
                                      [&](const auto& h) { return votes[h.owner] >= needed; });
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
        [c, name](answers<lock_info> said) {
            const auto open = unheard_of(*c, said);
            std::vector<lock_info> seen;
            for (auto& s : said) {
                if (s) seen.push_back(std::move(*s));
            }
            return joined(name, std::move(seen), open, said.size());
        },
        [&](std::size_t i, auto hear) { c->store(i).inspect(name, until, std::move(hear)); });
}

void list(const std::shared_ptr<council>& c, const std::string& glob, time_point deadline,
          handler<result<std::vector<lock_info>>> done) {
    using infos = std::vector<lock_info>;
    const auto until = soon(*c, deadline);
    gather<infos>(
        c, std::move(done),
        [c](answers<infos> said) {
            const auto open = unheard_of(*c, said);
            std::map<lock_name, infos> by_name;
            for (auto& s : said) {
                if (!s) continue;
                for (auto& info : *s) by_name[info.name].push_back(std::move(info));
            }
            infos all;
            for (auto& [name, seen] : by_name)
                all.push_back(joined(name, std::move(seen), open, said.size()));
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
            return std::any_of(said.begin(), said.end(), [](const auto& s) { return s.value_or(false); });
        },
        [&](std::size_t i, auto hear) { c->store(i).evict(name, until, std::move(hear)); });
}

}  // namespace holdfast::quorum_backend
