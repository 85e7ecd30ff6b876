#include "backends/quorum/examining.hpp"

#include "backends/quorum/kinds.hpp"
#include "backends/quorum/marks.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::quorum_backend {

namespace {

using backend::failure;
using backend::result;

// Without one of these a user can take no lock on the server.
bool takes_the_vote(const finding& f) {
    return f.how_bad == severity::danger &&
           (f.id == "missing-command" || f.id == "missing-key" || f.id == "renamed-command");
}

// What a member is asked beside what any server is.
backend::examine_request asked_of_members(const council& c, backend::examine_request wanted) {
    wanted.part = {"the redlock", c.mark_key(), kinds_had()};
    if (c.wanted.quarantine) wanted.part->grace = c.wanted.longest_lease;
    return wanted;
}

// Of all members; the last to answer puts them together.
class consultation {
  public:
    consultation(std::shared_ptr<council> of, backend::handler<result<examination>> done)
        : of_(std::move(of)),
          done_(std::move(done)),
          said_(of_->size(), failure{}),
          marks_(of_->size(), failure{}),
          ages_(of_->size()),
          open_(3 * of_->size()) {}

    void take(std::size_t who, result<examination> one) {
        {
            base::guard lock(mutex_);
            said_[who] = std::move(one);
            if (--open_ > 0) return;
        }
        tell();
    }
    void take_age(std::size_t who, std::optional<milliseconds> age) {
        {
            base::guard lock(mutex_);
            ages_[who] = age;
            if (--open_ > 0) return;
        }
        tell();
    }
    void take_mark(std::size_t who, result<std::string> mark) {
        {
            base::guard lock(mutex_);
            marks_[who] = std::move(mark);
            if (--open_ > 0) return;
        }
        tell();
    }

  private:
    void tell() {
        std::vector<result<examination>> said;
        marks on_members;
        council::ages ages;
        {
            base::guard lock(mutex_);
            said.swap(said_);
            on_members.swap(marks_);
            ages.swap(ages_);
        }
        weigh_votes(said);
        std::vector<examination> all;
        std::string silent;
        engine::member_set gone;
        std::size_t there = 0;
        engine::member_set servers;
        for (std::size_t i = 0; i < said.size(); ++i) {
            if (auto* const found = std::get_if<examination>(&said[i])) {
                ++there;
                servers.set(of_->first_self(i));
                all.push_back(std::move(*found));
                continue;
            }
            const auto why = std::get<failure>(said[i]).in_one();
            silent.append(silent.empty() ? "" : "; ").append(base::printable(of_->address(i)));
            gone.set(i);
            all.push_back({{}, {unreachable(i, why)}});
        }
        if (there == 0) return done_(std::get<failure>(std::move(said.front())));
        all.push_back({{}, {reach(there, servers.count(), silent), evenness()}});
        all.push_back({{}, judge(*of_, on_members, gone, subject())});
        auto one = together(std::move(all));
        if (of_->wanted.quarantine) {
            weigh_restarts(one);
            one.findings.push_back(quarantine(of_->foresee(ages, boot_clock::now())));
        }
        done_(std::move(one));
    }

    [[nodiscard]] std::string subject() const {
        return "the redlock of " + std::to_string(of_->size()) + " members";
    }

    [[nodiscard]] finding unreachable(std::size_t i, const std::string& why) const {
        return {
            "unreachable",
            severity::warning,
            base::printable(of_->address(i)),
            base::printable(why),
            "A member that does not answer, or does not let us in, has no vote: one failure less is borne.",
            "Is the server running, and are address, user and password of its URL right?",
            promise::live};
    }

    [[nodiscard]] finding reach(std::size_t there, std::size_t votes, const std::string& silent) const {
        const auto all = of_->size();
        const bool enough = votes >= engine::majority_of(all);
        const auto spare = enough ? votes - engine::majority_of(all) : 0;
        auto found = std::to_string(there) + " of " + std::to_string(all) + " members answer";
        if (votes < there)
            found += ", which are " + std::to_string(votes) + (votes == 1 ? " server" : " servers");
        if (!silent.empty()) found += "; not there: " + silent;
        std::string mending;
        if (there < all) mending = "Bring the members back, or change them for all clients at once.";
        if (votes < there)
            mending.append(mending.empty() ? "" : " ").append("Name each server once, by one address.");
        return {"redlock-members",
                !enough        ? severity::danger
                : votes == all ? severity::ok
                               : severity::warning,
                subject(),
                enough ? found + "; " + std::to_string(spare) + " more may fail" : found,
                "Without a majority of the members no lock is granted, renewed or said to be free.",
                mending,
                promise::live};
    }

    [[nodiscard]] finding quarantine(const council::forecast& seen) const {
        const bool granted = seen.what == council::prospects::good;
        const auto now = boot_clock::now();
        std::string found;
        for (const auto& [i, until] : seen.waiting)
            found.append(found.empty() ? "" : ", ")
                .append(base::printable(of_->address(i)))
                .append(" for ")
                .append(rounded_up(until - now));
        const bool none = found.empty();
        if (none) {
            found = "no member is kept from voting";
        } else {
            found.insert(0, "without a vote, because they may have forgotten locks: ");
            found += granted     ? "; the others are a majority"
                     : seen.left ? "; no lock is granted for " + rounded_up(*seen.left)
                                 : "; no lock is granted, and not only because of that";
        }
        return {
            "quarantine",
            none      ? severity::ok
            : granted ? severity::warning
                      : severity::danger,
            subject(),
            found,
            "A member that was started or promoted a moment ago may have forgotten locks. So it has no vote "
            "until the longest lease that it may have forgotten is over.",
            none ? "" : "Wait: it passes by itself. Restart no other member meanwhile.",
            promise::live};
    }
    static std::string rounded_up(boot_clock::duration d) {
        return base::to_text(std::chrono::ceil<std::chrono::seconds>(std::max(d, boot_clock::duration{0})));
    }

    [[nodiscard]] finding evenness() const {
        const auto all = of_->size();
        const bool even = all % 2 == 0;
        return {
            "redlock-even",
            even ? severity::warning : severity::ok,
            subject(),
            std::to_string(all) + " is " + (even ? "an even number" : "an odd number"),
            "An even number of members bears no more failures than one member less, and has one more that "
            "can fail.",
            even ? "Take one member out or add one, for all clients at once." : "",
            promise::live};
    }

    // A vote less is no danger while the others are a majority.
    void weigh_votes(std::vector<result<examination>>& said) const {
        engine::member_set voters;
        for (std::size_t i = 0; i < said.size(); ++i) {
            const auto* const found = std::get_if<examination>(&said[i]);
            if (found != nullptr &&
                std::none_of(found->findings.begin(), found->findings.end(), takes_the_vote))
                voters.set(of_->first_self(i));
        }
        const auto votes = voters.count();
        if (votes < engine::majority_of(of_->size())) return;
        for (auto& one : said) {
            auto* const found = std::get_if<examination>(&one);
            if (found == nullptr) continue;
            for (auto& f : found->findings) {
                if (!takes_the_vote(f)) continue;
                f.how_bad = severity::warning;
                f.found += "; " + std::to_string(votes) + " other members are enough without it";
            }
        }
    }

    // Whoever comes back empty has no vote until all that it may have forgotten has ended.
    void weigh_restarts(examination& in) const {
        for (auto& f : in.findings) {
            if (f.id != "persistence" || f.how_bad <= severity::note || f.how_bad == severity::unknown)
                continue;
            f.how_bad = severity::note;
            f.found += "; its vote does not count for " + base::to_text(of_->wanted.longest_lease) +
                       " after a restart";
        }
    }

    const std::shared_ptr<council> of_;
    const backend::handler<result<examination>> done_;

    base::mutex mutex_;
    std::vector<result<examination>> said_ GUARDED_BY(mutex_);
    marks marks_ GUARDED_BY(mutex_);
    council::ages ages_ GUARDED_BY(mutex_);
    std::size_t open_ GUARDED_BY(mutex_);
};

}  // namespace

void examine(const std::shared_ptr<council>& c, const backend::examine_request& wanted, time_point deadline,
             backend::handler<result<examination>> done) {
    const auto all = std::make_shared<consultation>(c, std::move(done));
    const auto of_member = asked_of_members(*c, wanted);
    const auto soon = std::min(deadline, boot_clock::now() + c->settings.answer_timeout);
    for (std::size_t i = 0; i < c->size(); ++i) {
        c->store(i).read_owner(c->mark_key(), soon,
                               [all, i](result<std::string> mark) { all->take_mark(i, std::move(mark)); });
        // Whether it was promoted is known once it has answered.
        c->store(i).examine(of_member, deadline, [all, c, i, deadline](result<examination> one) {
            all->take(i, std::move(one));
            c->look_at_promotion(i, std::min(deadline, boot_clock::now() + c->settings.answer_timeout),
                                 [all, i](std::optional<milliseconds> age) { all->take_age(i, age); });
        });
    }
}

}  // namespace holdfast::quorum_backend
