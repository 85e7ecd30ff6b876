#include "backends/joint/store.hpp"

#include "backends/joint/core.hpp"
#include "backends/joint/health.hpp"
#include "store/counters.hpp"
#include "store/inspection.hpp"
#include "store/mode_switch.hpp"

#include <algorithm>

namespace holdfast::joint_backend {

namespace {

std::string_view why_not(kind k) {
    switch (k) {
        case kind::native:
        case kind::native_fenced:
        case kind::recursive:
        case kind::shared_read:
        case kind::shared_write:
        case kind::semaphore:
        case kind::permit_semaphore: return {};
        case kind::recursive_fenced:
            return "a fenced_mutex cannot change its store: the next one does not know how far its fences "
                   "were counted; use a mutex with .fenced = true";
        case kind::fair: return "a lock that may change its store keeps no order of its waiters; use a mutex";
        case kind::latch: return "a latch cannot change its store: the next one does not know the count";
    }
    return {};
}

class joint_store final : public store, public inspection, public counters, public mode_switch {
  public:
    joint_store(const backends::services& given, level_opener open_level)
        : core_(std::make_shared<core>(given, parse_url(given.settings.url))) {
        core_->open(open_level);
        has_ = core_->level(0).has();
        has_.fences_per_grant = 1;
        has_.downgrades = false;
        has_.replicas = false;
        has_.permits_without_owner = false;
        has_.ask_every = milliseconds{0};
        has_.queues_at_once = false;
        each([&](const store& one) {
            const auto& has = one.has();
            has_.guarantee = std::min(has_.guarantee, has.guarantee);
            if (has.ends == lease_end::by_session) has_.ends = lease_end::by_session;
            if (has.counted_by == lease_clock::of_a_server) has_.counted_by = lease_clock::of_a_server;
            has_.renewals_at_a_time = std::min(has_.renewals_at_a_time, has.renewals_at_a_time);
        });
    }
    ~joint_store() override { core_->close(); }

    const capabilities& has() const noexcept override { return has_; }
    traffic statistics() const noexcept override {
        traffic all;
        each([&](const store& one) {
            const auto more = one.statistics();
            all.requests += more.requests;
            all.round_trip = std::max(all.round_trip, more.round_trip);
        });
        return all;
    }
    owner_id new_owner(kind k, std::uint32_t permits) override {
        return core_->level(0).new_owner(k, permits);
    }
    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        core_->attempt(r, deadline, std::move(done));
    }
    void renew(std::span<const renew_request> all, time_point deadline,
               handler<std::vector<renew_answer>> done) override {
        core_->renew(all, deadline, std::move(done));
    }
    void release(const release_request& r, time_point deadline, handler<release_answer> done) override {
        core_->release(r, deadline, std::move(done));
    }
    void release_later(const lock_key& key, const owner_id& owner) noexcept override {
        core_->release_later(key, owner);
    }
    std::unique_ptr<watch_handle> watch(const lock_key& key, const owner_id& owner,
                                        handler<watch_event> on_event) override {
        return core_->watch(key, owner, std::move(on_event));
    }
    void run_io(base::parker& me, time_point until) override { core_->level(0).run_io(me, until); }
    milliseconds session_timeout() const noexcept override {
        milliseconds longest{0};
        each([&](const store& one) { longest = std::max(longest, one.session_timeout()); });
        return longest;
    }
    bool wakes_all(kind k) const noexcept override { return core_->level(core_->first_level()).wakes_all(k); }
    bool taken_by_force(kind k) const noexcept override {
        bool any = false;
        each([&](const store& one) { any = any || one.taken_by_force(k); });
        return any;
    }
    std::uint32_t shard_of(const lock_key& key) const override { return core_->level(0).shard_of(key); }
    std::string_view unsupported(kind k) const noexcept override {
        auto no = why_not(k);
        each([&](const store& one) {
            if (no.empty()) no = one.unsupported(k);
            if (no.empty() && k == kind::native_fenced && !one.has().fences_follow_time)
                no = "the fences of one of its levels do not follow the time, so those of another could be "
                     "lower";
        });
        return no;
    }
    std::string_view reserved_for(const lock_name& name) const override {
        if (name.str() == probe_name) return "what joint stores try their levels with";
        std::string_view what;
        each([&](const store& one) {
            if (what.empty()) what = one.reserved_for(name);
        });
        return what;
    }
    bool has_pending() const noexcept override {
        bool any = false;
        each([&](const store& one) { any = any || one.has_pending(); });
        return any;
    }
    void leave_by(time_point until) noexcept override {
        for (std::size_t i = 0; i < core_->size(); ++i) core_->level(i).leave_by(until);
    }
    void abandon() noexcept override { core_->abandon(); }

    counters* as_counters() noexcept override { return this; }
    // What has no owner, and another number of permits, would be unknown in the other levels.
    void adjust(const adjust_request& r, time_point deadline, handler<adjust_answer> done) override {
        if (r.what != adjustment::read)
            return done(refused{{make_error_code(errc::invalid_argument),
                                 "permits of a semaphore that may change its store come and go by leases "
                                 "only, and their number is semaphore_options::total",
                                 {}},
                                {}});
        core_->keeper().read(
            deadline, [this, r, deadline, done = std::move(done)](const result<confirmed_mode>& got) mutable {
                if (const auto* const no = std::get_if<failure>(&got)) return done(refused{*no, {}});
                auto& level = core_->level(std::get<confirmed_mode>(got).what.needed.front());
                auto& there = *level.as_counters();
                if (r.amount <= 0) return there.adjust(r, deadline, std::move(done));
                // A level that is used for the first time learns it, as from an acquisition.
                auto set = r;
                set.what = adjustment::set_if_unset;
                set.operation = level.new_owner(r.key.of, 1);
                there.adjust(set, deadline,
                             [&there, r, deadline, done = std::move(done)](adjust_answer a) mutable {
                                 if (!std::holds_alternative<adjusted>(a)) return done(std::move(a));
                                 there.adjust(r, deadline, std::move(done));
                             });
            });
    }

    inspection* as_inspection() noexcept override {
        bool all = true;
        for (std::size_t i = 0; i < core_->size(); ++i)
            all = all && core_->level(i).as_inspection() != nullptr;
        return all ? this : nullptr;
    }
    // Operators see the first level that the mode needs now: every holder has its lock there.
    void inspect(const lock_name& name, holders_shown which, time_point deadline,
                 handler<result<lock_info>> done) override {
        in_first<lock_info>(deadline, std::move(done), [=](inspection& there, auto then) {
            there.inspect(name, which, deadline, std::move(then));
        });
    }
    void list(const std::string& glob, listed which, time_point deadline,
              handler<result<std::vector<lock_info>>> done) override {
        in_first<std::vector<lock_info>>(deadline, std::move(done), [=](inspection& there, auto then) {
            there.list(glob, which, deadline, std::move(then));
        });
    }
    void ask_to_give_up(const lock_name& name, const holder_info& of, time_point deadline,
                        handler<result<asked>> done) override {
        in_first<asked>(deadline, std::move(done), [=](inspection& there, auto then) {
            there.ask_to_give_up(name, of, deadline, std::move(then));
        });
    }
    void evict(const lock_name& name, const std::vector<std::string>& owners, time_point deadline,
               handler<result<std::vector<evicted>>> done) override {
        in_first<std::vector<evicted>>(deadline, std::move(done), [=](inspection& there, auto then) {
            there.evict(name, owners, deadline, std::move(then));
        });
    }
    void clear_line(const lock_name& name, const std::vector<std::string>& absent, time_point deadline,
                    handler<result<std::vector<std::string>>> done) override {
        in_first<std::vector<std::string>>(deadline, std::move(done), [=](inspection& there, auto then) {
            there.clear_line(name, absent, deadline, std::move(then));
        });
    }
    void examine(const examine_request& wanted, time_point deadline,
                 handler<result<examination>> done) override {
        in_first<examination>(
            deadline, with_clocks(deadline, std::move(done)),
            [=](inspection& there, auto then) { there.examine(wanted, deadline, std::move(then)); });
    }
    // In all levels: any of them may be the first when somebody asks.
    bool hear_requests_for(const lock_name& name) override {
        bool all = true;
        for (std::size_t i = 0; i < core_->size(); ++i)
            all = core_->level(i).as_inspection()->hear_requests_for(name) && all;
        return all;
    }

    mode_switch* as_mode_switch() noexcept override { return this; }
    known_mode known() const override { return core_->known(); }
    void read_mode(time_point deadline, handler<result<group_mode>> done) override {
        core_->keeper().read(
            deadline, shown_to([c = core_, deadline, done = std::move(done)](result<group_mode> got) mutable {
                auto* const mode = std::get_if<group_mode>(&got);
                if (mode == nullptr || !mode->automation || !mode->automation->on)
                    return done(std::move(got));
                add_reports(*c, *mode, deadline, std::move(done));
            }));
    }
    void try_level(std::size_t level, time_point deadline, handler<std::optional<failure>> done) override {
        if (core_->wanted.pin) return done(std::nullopt);  // no change of the mode is granted anyway
        core_->try_level(level, deadline, std::move(done));
    }
    void automate(bool on, const change_signature& by, time_point deadline,
                  handler<result<group_mode>> done) override {
        core_->keeper().automate(on, by, deadline, shown_to(std::move(done)));
    }
    void step_towards(std::size_t level, const group_mode& from, const change_signature& by,
                      time_point deadline, handler<result<group_mode>> done) override {
        auto next = next_step(from.needed, level);
        if (!next) return done(from);
        core_->change_mode(from.epoch, from.needed, std::move(*next), by, changed_by::hand, deadline,
                           shown_to(std::move(done)));
    }

    void step_towards_two(const group_mode& from, const change_signature& by, time_point deadline,
                          handler<result<group_mode>> done) override {
        if (from.needed.size() == 2)
            return core_->keeper().settle(from.epoch, by, deadline, shown_to(std::move(done)));
        core_->change_mode(from.epoch, from.needed, with_neighbour(from.needed.front(), core_->size()), by,
                           changed_by::hand, deadline, shown_to(std::move(done)));
    }

  private:
    [[nodiscard]] handler<result<confirmed_mode>> shown_to(handler<result<group_mode>> done) const {
        return [c = core_, done = std::move(done)](result<confirmed_mode> got) mutable {
            if (const auto* const no = std::get_if<failure>(&got)) return done(*no);
            auto& mode = std::get<confirmed_mode>(got).what;
            group_mode shown{
                .group = c->wanted.group, .arbiter = c->wanted.arbiter.place, .epoch = mode.epoch};
            for (const auto& one : c->wanted.levels) shown.levels.push_back(one.place);
            shown.needed = std::move(mode.needed);
            shown.settled = mode.settled;
            shown.must_last = std::chrono::ceil<milliseconds>(c->keeper().must_last());
            for (auto& one : mode.history)
                shown.history.push_back(
                    {one.epoch, std::move(one.needed), wall_time(one.at), std::move(one.author)});
            if (auto& a = mode.automation) shown.automation = {a->on, wall_time(a->at), std::move(a->author)};
            done(std::move(shown));
        };
    }
    [[nodiscard]] handler<result<examination>> with_clocks(time_point deadline,
                                                           handler<result<examination>> done) const {
        return [c = core_, deadline, done = std::move(done)](result<examination> got) mutable {
            auto* const found = std::get_if<examination>(&got);
            if (found == nullptr) return done(std::move(got));
            c->examine_clocks(deadline, [found = std::move(*found),
                                         done = std::move(done)](std::vector<finding> more) mutable {
                std::ranges::move(more, std::back_inserter(found.findings));
                done(std::move(found));
            });
        };
    }
    static std::chrono::system_clock::time_point wall_time(std::int64_t at) {
        return std::chrono::system_clock::time_point{milliseconds{at}};
    }
    // Without the reports, if they cannot be read.
    static void add_reports(core& c, const group_mode& to, time_point deadline,
                            handler<result<group_mode>> done) {
        c.read_health(deadline, [to = group_mode{to}, levels = c.size(),
                                 done = std::move(done)](const result<register_value>& got) mutable {
            const auto* const there = std::get_if<register_value>(&got);
            auto reports = there != nullptr ? parse_health(there->text, levels) : std::nullopt;
            for (auto& one : reports.value_or(health_reports{}))
                to.reports.push_back({std::move(one.host), std::move(one.down)});
            done(std::move(to));
        });
    }
    template <class F>
    void each(const F& f) const {
        for (std::size_t i = 0; i < core_->size(); ++i) f(std::as_const(core_->level(i)));
    }
    // A client that has just begun does not know the mode yet.
    template <class T, class Ask>
    void in_first(time_point deadline, handler<result<T>> done, Ask ask) {
        core_->keeper().read(deadline, [this, done = std::move(done),
                                        ask = std::move(ask)](const result<confirmed_mode>& got) mutable {
            if (const auto* const no = std::get_if<failure>(&got)) return done(*no);
            ask(*core_->level(std::get<confirmed_mode>(got).what.needed.front()).as_inspection(),
                std::move(done));
        });
    }

    const std::shared_ptr<core> core_;
    capabilities has_;
};

}  // namespace

std::unique_ptr<store> open(const backends::services& given, level_opener open_level) {
    return std::make_unique<joint_store>(given, open_level);
}

}  // namespace holdfast::joint_backend
