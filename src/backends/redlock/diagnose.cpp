#include "backends/redlock/diagnose.hpp"

#include "backends/redlock/diagnose_membership.hpp"
#include "backends/redlock/kinds.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::redlock_backend {

namespace {

using backend::failure;
using backend::result;

// Without this right a user cannot lock on the server.
bool prevents_voting(const finding& f) {
    return f.how_bad == severity::danger &&
           (f.id == "missing-command" || f.id == "missing-key" || f.id == "renamed-command");
}

// A member is asked for more than a single server.
backend::examine_request request_to_members(const members& redlock, backend::examine_request wanted) {
    wanted.part = {"the redlock", redlock.membership_key(), supported_kinds()};
    if (redlock.wanted.quarantine) wanted.part->grace = redlock.wanted.longest_lease;
    return wanted;
}

// Collects the answers of all members; the last answer makes the findings.
class diagnosis {
  public:
    diagnosis(std::shared_ptr<members> of, backend::handler<result<examination>> done)
        : members_(std::move(of)),
          done_(std::move(done)),
          examined_(members_->size(), failure{}),
          keys_(members_->size(), failure{}),
          ages_(members_->size()),
          open_(3 * members_->size()) {}

    void take(std::size_t who, result<examination> one) {
        {
            base::guard lock(mutex_);
            examined_[who] = std::move(one);
            if (--open_ > 0) return;
        }
        finish();
    }
    void take_age(std::size_t who, std::optional<milliseconds> age) {
        {
            base::guard lock(mutex_);
            ages_[who] = age;
            if (--open_ > 0) return;
        }
        finish();
    }
    void take_key(std::size_t who, result<std::string> key) {
        {
            base::guard lock(mutex_);
            keys_[who] = std::move(key);
            if (--open_ > 0) return;
        }
        finish();
    }

  private:
    void finish() {
        std::vector<result<examination>> examined;
        membership_keys keys;
        members::promotion_ages ages;
        {
            base::guard lock(mutex_);
            examined.swap(examined_);
            keys.swap(keys_);
            ages.swap(ages_);
        }
        weigh_votes(examined);
        std::vector<examination> all;
        std::string absent;
        engine::member_set no_answer;
        std::size_t there = 0;
        engine::member_set servers;
        for (std::size_t i = 0; i < examined.size(); ++i) {
            if (auto* const found = std::get_if<examination>(&examined[i])) {
                ++there;
                servers.set(members_->first_with_same_server(i));
                all.push_back(std::move(*found));
                continue;
            }
            const auto why = std::get<failure>(examined[i]).in_one();
            absent.append(absent.empty() ? "" : "; ").append(base::printable(members_->address(i)));
            no_answer.set(i);
            all.push_back({{}, {unreachable(i, why)}});
        }
        if (there == 0) return done_(std::get<failure>(std::move(examined.front())));
        all.push_back({{}, {reach(there, servers.count(), absent), evenness()}});
        all.push_back({{}, membership_findings(*members_, keys, no_answer, subject())});
        auto one = together(std::move(all));
        if (members_->wanted.quarantine) {
            weigh_restarts(one);
            one.findings.push_back(quarantine(members_->predict(ages, boot_clock::now())));
        }
        done_(std::move(one));
    }

    [[nodiscard]] std::string subject() const {
        return "the redlock of " + std::to_string(members_->size()) + " members";
    }

    [[nodiscard]] finding unreachable(std::size_t i, const std::string& why) const {
        return {"unreachable",
                severity::warning,
                base::printable(members_->address(i)),
                base::printable(why),
                "A member that does not answer, or refuses our login, has no vote: one failure less is "
                "tolerated.",
                "Is the server running, and are address, user and password of its URL right?",
                promise::live};
    }

    [[nodiscard]] finding reach(std::size_t there, std::size_t votes, const std::string& absent) const {
        const auto all = members_->size();
        const bool enough = votes >= engine::majority_of(all);
        const auto spare = enough ? votes - engine::majority_of(all) : 0;
        auto found = std::to_string(there) + " of " + std::to_string(all) + " members answer";
        if (votes < there)
            found += ", which are " + std::to_string(votes) + (votes == 1 ? " server" : " servers");
        if (!absent.empty()) found += "; not there: " + absent;
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
                "Without a majority of the members no lock is granted, renewed or reported free.",
                mending,
                promise::live};
    }

    [[nodiscard]] finding quarantine(const members::prediction& seen) const {
        const bool granted = seen.what == members::quorum_state::enough;
        const auto now = boot_clock::now();
        std::string found;
        for (const auto& [i, until] : seen.waiting)
            found.append(found.empty() ? "" : ", ")
                .append(base::printable(members_->address(i)))
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
        const auto all = members_->size();
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

    // A missing vote is no danger while the other members are a majority.
    void weigh_votes(std::vector<result<examination>>& examined) const {
        engine::member_set voters;
        for (std::size_t i = 0; i < examined.size(); ++i) {
            const auto* const found = std::get_if<examination>(&examined[i]);
            if (found != nullptr &&
                std::none_of(found->findings.begin(), found->findings.end(), prevents_voting))
                voters.set(members_->first_with_same_server(i));
        }
        const auto votes = voters.count();
        if (votes < engine::majority_of(members_->size())) return;
        for (auto& one : examined) {
            auto* const found = std::get_if<examination>(&one);
            if (found == nullptr) continue;
            for (auto& f : found->findings) {
                if (!prevents_voting(f)) continue;
                f.how_bad = severity::warning;
                f.found += "; " + std::to_string(votes) + " other members are enough without it";
            }
        }
    }

    // A member that restarts without data is quarantined, so a restart is no danger.
    void weigh_restarts(examination& in) const {
        for (auto& f : in.findings) {
            if (f.id != "persistence" || f.how_bad <= severity::note || f.how_bad == severity::unknown)
                continue;
            f.how_bad = severity::note;
            f.found += "; its vote does not count for " + base::to_text(members_->wanted.longest_lease) +
                       " after a restart";
        }
    }

    const std::shared_ptr<members> members_;
    const backend::handler<result<examination>> done_;

    base::mutex mutex_;
    std::vector<result<examination>> examined_ GUARDED_BY(mutex_);
    membership_keys keys_ GUARDED_BY(mutex_);
    members::promotion_ages ages_ GUARDED_BY(mutex_);
    std::size_t open_ GUARDED_BY(mutex_);
};

}  // namespace

void diagnose(const std::shared_ptr<members>& redlock, const backend::examine_request& wanted,
              time_point deadline, backend::handler<result<examination>> done) {
    const auto all = std::make_shared<diagnosis>(redlock, std::move(done));
    const auto of_member = request_to_members(*redlock, wanted);
    const auto soon = std::min(deadline, boot_clock::now() + redlock->settings.answer_timeout);
    for (std::size_t i = 0; i < redlock->size(); ++i) {
        redlock->member_at(i).read_owner(redlock->membership_key(), soon, [all, i](result<std::string> key) {
            all->take_key(i, std::move(key));
        });
        // The client learns of a promotion by the first answer, so this question comes second.
        redlock->inspection_of(i).examine(
            of_member, deadline, [all, redlock, i, deadline](result<examination> one) {
                all->take(i, std::move(one));
                redlock->look_at_promotion(
                    i, std::min(deadline, boot_clock::now() + redlock->settings.answer_timeout),
                    [all, i](std::optional<milliseconds> age) { all->take_age(i, age); });
            });
    }
}

}  // namespace holdfast::redlock_backend
