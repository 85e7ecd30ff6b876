#include "backends/redlock/store.hpp"

#include "backends/redlock/diagnose.hpp"
#include "backends/redlock/fan_out.hpp"
#include "backends/redlock/inspect.hpp"
#include "backends/redlock/kinds.hpp"
#include "backends/redlock/round.hpp"
#include "base/parker.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::redlock_backend {

namespace {

using namespace backend;
using engine::tally;

// The votes on each of the locks that are renewed together.
class renewal_votes {
  public:
    renewal_votes(std::size_t locks, std::size_t members, handler<std::vector<renew_answer>> done)
        : votes_(locks, tally{members}),
          answers_(locks, unknown{}),
          leases_(locks, milliseconds::max()),
          open_(members),
          done_(std::move(done)) {}

    bool add(std::size_t, std::size_t server, const std::vector<renew_answer>& of_member) {
        bool all_clear = true;
        for (std::size_t i = 0; i < votes_.size(); ++i) {
            const renew_answer said = i < of_member.size() ? of_member[i] : unknown{};
            const auto* yes = std::get_if<renewed>(&said);
            if (yes != nullptr) leases_[i] = std::min(leases_[i], yes->lease);
            const auto v =
                votes_[i].add(server, yes != nullptr                           ? tally::answer::yes
                                      : std::holds_alternative<not_held>(said) ? tally::answer::no
                                                                               : tally::answer::silent);
            if (v == tally::verdict::yes) answers_[i] = renewed{leases_[i]};
            if (v == tally::verdict::no) answers_[i] = not_held{};
            if (const auto* no = std::get_if<refused>(&said); no != nullptr && !no->server_text.empty())
                if (auto* so_far = std::get_if<unknown>(&answers_[i])) *so_far = unknown{no->why()};
            all_clear = all_clear && v != tally::verdict::open;
        }
        return --open_ == 0 || all_clear;
    }
    void finish() { done_(std::move(answers_)); }

  private:
    std::vector<tally> votes_;
    std::vector<renew_answer> answers_;
    std::vector<milliseconds> leases_;  // the shortest that a member granted
    std::size_t open_;
    handler<std::vector<renew_answer>> done_;
};

class release_votes {
  public:
    release_votes(std::size_t members, handler<release_answer> done)
        : votes_(members), done_(std::move(done)) {}

    bool add(std::size_t, std::size_t server, const release_answer& of_member) {
        auto said = tally::answer::silent;
        if (const auto* yes = std::get_if<released>(&of_member)) {
            said = tally::answer::yes;
            listeners_ = std::max(listeners_, yes->listeners);
        }
        if (std::holds_alternative<not_held>(of_member)) said = tally::answer::no;
        if (const auto* no = std::get_if<refused>(&of_member)) received(no->why());
        if (const auto* no = std::get_if<unknown>(&of_member)) received(*no);
        return votes_.add(server, said) != tally::verdict::open;
    }
    void finish() {
        if (votes_.result() == tally::verdict::yes) return done_(released{listeners_});
        if (votes_.result() == tally::verdict::no) return done_(not_held{});
        done_(unknown{std::move(reason_)});
    }

  private:
    // The error of one server explains more than the silence of another.
    void received(const failure& why) {
        if (reason_.server_text.empty()) reason_ = why;
    }

    tally votes_;
    failure reason_;
    // Clients in other languages, or on one member alone; our clients of a redlock do not listen.
    std::uint32_t listeners_ = 0;
    handler<release_answer> done_;
};

class redlock_store final : public store, public inspection {
  public:
    redlock_store(const backends::services& given, member_opener open_member)
        : members_(std::make_shared<members>(given, parse_url(given.settings.url))),
          timeouts_(std::make_shared<round_timeouts>(given.reactor)) {
        members_->on_change = [open = timeouts_] { open->notify_all(); };
        members_->open(open_member);
        has_.fences_per_grant = members_->store(0).has().fences_per_grant;
        for (std::size_t i = 1; i < members_->size(); ++i)
            has_.fences_per_grant =
                std::min(has_.fences_per_grant, members_->store(i).has().fences_per_grant);
    }
    ~redlock_store() override {
        const auto open = timeouts_->close();
        members_->close();
        for (const auto& m : open) static_cast<round&>(*m).close();
    }

    const capabilities& has() const noexcept override { return has_; }
    traffic statistics() const noexcept override {
        traffic all;
        for (std::size_t i = 0; i < members_->size(); ++i) {
            const auto one = members_->store(i).statistics();
            all.requests += one.requests;
            all.round_trip = std::max(all.round_trip, one.round_trip);
        }
        return all;
    }
    owner_id new_owner(kind k, std::uint32_t permits) override {
        return members_->store(0).new_owner(k, permits);
    }

    std::string_view unsupported(kind k) const noexcept override { return why_unsupported(k); }
    // Redisson's forceUnlock on each member takes it.
    bool taken_by_force(kind k) const noexcept override { return k == kind::recursive; }
    std::string_view reserved_for(const lock_name& name) const override {
        return members_->store(0).reserved_for(name);
    }

    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        if (auto why = why_refused(r); !why.empty())
            return done(refused{{make_error_code(errc::invalid_argument), std::move(why)}});
        std::make_shared<round>(members_, *timeouts_, r, deadline, std::move(done))->begin();
    }

    void renew(std::span<const renew_request> all, time_point deadline,
               handler<std::vector<renew_answer>> done) override {
        const auto votes =
            std::make_shared<fan_out<renewal_votes>>(members_, all.size(), members_->size(), std::move(done));
        ask_all<std::vector<renew_answer>>(votes, [&](std::size_t i, auto reply) {
            members_->store(i).renew(all, deadline, std::move(reply));
        });
    }

    // Compare-and-delete on all members, also on those that never said they had the lock.
    void release(const release_request& r, time_point deadline, handler<release_answer> done) override {
        const auto votes =
            std::make_shared<fan_out<release_votes>>(members_, members_->size(), std::move(done));
        ask_all<release_answer>(votes, [&](std::size_t i, auto reply) {
            members_->release_at(i, r, deadline, std::move(reply));
        });
    }

    // A message of one server says nothing about the majority, so waiters ask again.
    std::unique_ptr<watch_handle> watch(const lock_key&, const owner_id&,
                                        handler<watch_event> on_event) override {
        on_event({watch_event::change::refused, {}});
        return std::make_unique<watch_handle>();
    }

    void inspect(const lock_name& name, holders_shown which, time_point deadline,
                 handler<result<lock_info>> done) override {
        redlock_backend::inspect(members_, name, which, deadline, std::move(done));
    }
    void list(const std::string& glob, listed which, time_point deadline,
              handler<result<std::vector<lock_info>>> done) override {
        redlock_backend::list(members_, glob, which, deadline, std::move(done));
    }
    bool hear_requests_for(const lock_name& name) override {
        for (std::size_t i = 0; i < members_->size(); ++i)
            (void)members_->inspection_of(i).hear_requests_for(name);
        return true;
    }
    void ask_to_give_up(const lock_name& name, const holder_info& of, time_point deadline,
                        handler<result<asked>> done) override {
        redlock_backend::ask_to_give_up(members_, name, of, deadline, std::move(done));
    }
    void evict(const lock_name& name, const std::vector<std::string>& owners, time_point deadline,
               handler<result<std::vector<evicted>>> done) override {
        redlock_backend::evict(members_, name, owners, deadline, std::move(done));
    }

    // A redlock has no queue.
    void clear_line(const lock_name&, const std::vector<std::string>&, time_point,
                    handler<result<std::vector<std::string>>> done) override {
        done(std::vector<std::string>{});
    }
    void examine(const examine_request& wanted, time_point deadline,
                 handler<result<examination>> done) override {
        redlock_backend::diagnose(members_, wanted, deadline, std::move(done));
    }

    bool has_pending() const noexcept override { return members_->has_pending(); }

    void run_io(base::parker& me, time_point until) override {
        io::poll_together(members_->connections(), me, until);
    }
    void abandon() noexcept override { members_->abandon(); }
    inspection* as_inspection() noexcept override { return this; }

  private:
    [[nodiscard]] std::string why_refused(const attempt_request& r) const {
        if (const auto& c = members_->wanted; c.quarantine && r.lease > c.longest_lease)
            return "a lease of " + base::to_text(r.lease) + " is longer than the redlock's longest_lease, " +
                   base::to_text(c.longest_lease) +
                   ", for which members that were started anew are not counted";
        return {};
    }

    capabilities has_{.guarantee = strength::quorum, .ask_every = milliseconds{1}, .votes = true};
    const std::shared_ptr<members> members_;
    const std::shared_ptr<round_timeouts> timeouts_;
};

}  // namespace

std::unique_ptr<store> open(const backends::services& given, member_opener open_member) {
    return std::make_unique<redlock_store>(given, open_member);
}

}  // namespace holdfast::redlock_backend
