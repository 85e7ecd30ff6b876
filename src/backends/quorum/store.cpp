#include "backends/quorum/store.hpp"

#include "backends/quorum/examining.hpp"
#include "backends/quorum/kinds.hpp"
#include "backends/quorum/looking.hpp"
#include "backends/quorum/poll.hpp"
#include "backends/quorum/round.hpp"
#include "base/parker.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::quorum_backend {

namespace {

using namespace backend;
using engine::tally;

constexpr capabilities what_we_have{
    .name = "redlock", .gives = strength::quorum, .survives_us = true, .votes = true};

// The votes on each of the locks that are renewed together.
class renewal {
  public:
    renewal(std::size_t locks, std::size_t members, handler<std::vector<renew_answer>> done)
        : votes_(locks, tally{members}),
          answers_(locks, renew_answer::unknown),
          open_(members),
          done_(std::move(done)) {}

    bool add(std::size_t, std::size_t server, const std::vector<renew_answer>& of_member) {
        bool all_clear = true;
        for (std::size_t i = 0; i < votes_.size(); ++i) {
            const auto said = i < of_member.size() ? of_member[i] : renew_answer::unknown;
            const auto v = votes_[i].add(server, said == renew_answer::renewed ? tally::answer::yes
                                                 : said == renew_answer::lost  ? tally::answer::no
                                                                               : tally::answer::silent);
            if (v == tally::verdict::yes) answers_[i] = renew_answer::renewed;
            if (v == tally::verdict::no) answers_[i] = renew_answer::lost;
            all_clear = all_clear && v != tally::verdict::open;
        }
        return --open_ == 0 || all_clear;
    }
    void tell() { done_(std::move(answers_)); }

  private:
    std::vector<tally> votes_;
    std::vector<renew_answer> answers_;
    std::size_t open_;
    handler<std::vector<renew_answer>> done_;
};

class giving_back {
  public:
    giving_back(std::size_t members, handler<release_answer> done)
        : votes_(members), done_(std::move(done)) {}

    bool add(std::size_t, std::size_t server, const release_answer& of_member) {
        auto said = tally::answer::silent;
        if (const auto* yes = std::get_if<released>(&of_member)) {
            said = tally::answer::yes;
            listeners_ = std::max(listeners_, yes->listeners);
        }
        if (std::holds_alternative<not_held>(of_member)) said = tally::answer::no;
        if (const auto* no = std::get_if<refused>(&of_member)) reason_ = no->why();
        if (const auto* no = std::get_if<unknown>(&of_member)) reason_ = *no;
        return votes_.add(server, said) != tally::verdict::open;
    }
    void tell() {
        if (votes_.result() == tally::verdict::yes) return done_(released{listeners_});
        if (votes_.result() == tally::verdict::no) return done_(not_held{});
        done_(unknown{std::move(reason_)});
    }

  private:
    tally votes_;
    failure reason_;
    // Of other languages and of clients of one member: ours of a redlock do not listen.
    std::uint32_t listeners_ = 0;
    handler<release_answer> done_;
};

class quorum_store final : public store {
  public:
    quorum_store(const backends::services& given, member_opener open_member)
        : members_(std::make_shared<council>(given, parse_url(given.settings.url))),
          docket_(std::make_shared<docket>(given.reactor)) {
        members_->on_change = [open = docket_] { open->change(); };
        members_->open(open_member);
    }
    ~quorum_store() override {
        const auto open = docket_->close();
        members_->close();
        for (const auto& m : open) static_cast<round&>(*m).close();
    }

    const capabilities& has() const noexcept override { return what_we_have; }
    traffic seen() const noexcept override {
        traffic all;
        for (std::size_t i = 0; i < members_->size(); ++i) {
            const auto one = members_->store(i).seen();
            all.requests += one.requests;
            all.round_trip = std::max(all.round_trip, one.round_trip);
        }
        return all;
    }
    owner_id new_owner(kind k, std::uint32_t permits) override {
        return members_->store(0).new_owner(k, permits);
    }

    std::string_view kept_under(const lock_name& name) const override {
        return members_->store(0).kept_under(name);
    }

    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        if (auto why = objection(r); !why.empty())
            return done(refused{{make_error_code(errc::invalid_argument), std::move(why)}});
        std::make_shared<round>(members_, *docket_, r, deadline, std::move(done))->begin();
    }

    void renew(std::span<const renew_request> all, time_point deadline,
               handler<std::vector<renew_answer>> done) override {
        const auto votes =
            std::make_shared<poll<renewal>>(members_, all.size(), members_->size(), std::move(done));
        ask_all<std::vector<renew_answer>>(votes, [&](std::size_t i, auto hear) {
            members_->store(i).renew(all, deadline, std::move(hear));
        });
    }

    // Compare-and-delete on all of them, those too that never said they had it.
    void release(const release_request& r, time_point deadline, handler<release_answer> done) override {
        if (!objection_to(r.key.of).empty()) return done(not_held{});
        const auto votes = std::make_shared<poll<giving_back>>(members_, members_->size(), std::move(done));
        ask_all<release_answer>(
            votes, [&](std::size_t i, auto hear) { members_->release_at(i, r, deadline, std::move(hear)); });
    }

    void adjust(const adjust_request& r, time_point, handler<adjust_answer> done) override {
        auto why = objection_to(r.key.of);
        if (why.empty()) why = "it has no counter";
        done(refused{{make_error_code(errc::invalid_argument), std::string{why}}});
    }

    // Messages of one server say nothing of the majority: waiters ask again.
    std::unique_ptr<watch_handle> watch(const lock_key&, const owner_id&,
                                        handler<watch_event> tell) override {
        tell({watch_event::change::refused, {}});
        return std::make_unique<watch_handle>();
    }

    void inspect(const lock_name& name, time_point deadline, handler<result<lock_info>> done) override {
        quorum_backend::inspect(members_, name, deadline, std::move(done));
    }
    void list(const std::string& glob, listed which, time_point deadline,
              handler<result<std::vector<lock_info>>> done) override {
        quorum_backend::list(members_, glob, which, deadline, std::move(done));
    }
    bool hear_requests_for(const lock_name& name) override {
        for (std::size_t i = 0; i < members_->size(); ++i) (void)members_->store(i).hear_requests_for(name);
        return true;
    }
    void ask_to_give_up(const lock_name& name, const holder_info& of, time_point deadline,
                        handler<result<asked>> done) override {
        quorum_backend::ask_to_give_up(members_, name, of, deadline, std::move(done));
    }
    void evict(const lock_name& name, const std::vector<std::string>& owners, time_point deadline,
               handler<result<std::vector<evicted>>> done) override {
        quorum_backend::evict(members_, name, owners, deadline, std::move(done));
    }

    void examine(const examine_request& wanted, time_point deadline,
                 handler<result<examination>> done) override {
        quorum_backend::examine(members_, wanted, deadline, std::move(done));
    }

    bool has_errands() const noexcept override { return members_->has_errands(); }

    void lend(base::parker& me, time_point until) override {
        io::drive_together(members_->connections(), me, until);
    }
    void abandon() noexcept override { members_->abandon(); }

  private:
    [[nodiscard]] std::string objection(const attempt_request& r) const {
        if (const auto why = objection_to(r.key.of); !why.empty()) return std::string{why};
        if (const auto& c = members_->wanted; c.quarantine && r.lease > c.longest_lease)
            return "a lease of " + base::to_text(r.lease) + " is longer than the redlock's longest_lease, " +
                   base::to_text(c.longest_lease) +
                   ", for which members that were started anew are not counted";
        return {};
    }

    const std::shared_ptr<council> members_;
    const std::shared_ptr<docket> docket_;
};

}  // namespace

std::unique_ptr<store> open(const backends::services& given, member_opener open_member) {
    return std::make_unique<quorum_store>(given, open_member);
}

}  // namespace holdfast::quorum_backend
