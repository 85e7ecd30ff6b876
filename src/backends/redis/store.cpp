#include "backends/redis/store.hpp"
#include "backends/redis/server_time.hpp"

#include "backends/common/owner_serials.hpp"
#include "backends/redis/data_loss/quarantine_filter.hpp"
#include "backends/redis/data_loss/replicated_grant.hpp"
#include "backends/redis/doctor/catalogue.hpp"
#include "backends/redis/doctor/doctor.hpp"
#include "backends/redis/eviction/eviction.hpp"
#include "backends/redis/inspection/inspection.hpp"
#include "backends/redis/inspection/key_decoder.hpp"
#include "backends/redis/kinds/lock_protocol.hpp"
#include "backends/redis/renewals.hpp"
#include "backends/redis/url/lock_url.hpp"
#include "backends/redis/wake_ups/wake_channels.hpp"
#include "backends/redis/wire/fences_per_grant.hpp"
#include "backends/redis/wire/keys.hpp"
#include "backends/redis/wire/reply_mapping.hpp"
#include "base/clock.hpp"
#include "base/text.hpp"
#include "engine/kinds.hpp"
#include "engine/retry_policy.hpp"
#include "io/pollable.hpp"
#include "io/reactor.hpp"
#include "redis/cluster/cluster.hpp"
#include "redis/node/node.hpp"
#include "store/counters.hpp"
#include "store/inspection.hpp"
#include "store/redlock_member.hpp"
#include "store/server_clock.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>
#include <variant>

namespace holdfast::redis_backend {

namespace {

using namespace backend;

constexpr capabilities what_we_have{.guarantee = strength::single,
                                    .replicas = true,
                                    .fences_per_grant = fences_per_grant,
                                    .fences_follow_time = true};
// How long an unused note survives: 30 days. After that, clients sit out one more quarantine.
constexpr std::string_view promotion_mark_ttl = "2592000000";

std::unique_ptr<redis::database> database_at(lock_url where, const backends::services& given,
                                             std::function<void(const redis::node_event&)> on_event) {
    const auto complete = [&](redis::node_config& c) {
        c.connections = given.settings.redis.connections;
        if (const auto& ask = given.settings.redis.credentials) {
            c.ask_login = [ask](const std::string& address) {
                auto found = ask(address);
                return redis::login{std::move(found.user), std::move(found.password)};
            };
        }
        c.client_name = connection_name(given.id.base64url(), given.settings.program);
    };
    if (auto* all = std::get_if<redis::cluster_config>(&where.server)) {
        complete(all->each);
        return std::make_unique<redis::cluster>(std::move(*all), given.reactor, std::move(on_event));
    }
    auto& one = std::get<redis::node_config>(where.server);
    complete(one);
    return std::make_unique<redis::node>(one, given.reactor, std::move(on_event));
}

std::unique_ptr<quarantine_filter> filter_for(const quarantine_rules& rules) {
    return rules.wanted() ? std::make_unique<quarantine_filter>(rules) : nullptr;
}

constexpr std::string_view server_too_old =
    "the server is older than Redis 5.0; holdfast needs Redis 6.2 or later, or Valkey";
constexpr std::string_view does_not_fit =
    "in a Redis Cluster the keys and channels that Redisson makes of this name lie in different slots, so no "
    "client can serve such a lock there; use a name without braces, or one with a whole {tag}";

class redis_store final : public store,
                          public counters,
                          public inspection,
                          public redlock_member,
                          public server_clock,
                          public io::pollable_store {
  public:
    redis_store(const backends::services& given, lock_url where)
        : reactor_(given.reactor),
          notify_(given.notify),
          quarantine_(filter_for(where.quarantine)),
          db_(database_at(std::move(where), given, [this](const redis::node_event& e) { on_event(e); })),
          context_{
              *db_,
              given.id.base64url(),
              given.id.uuid(),
              given.settings.answer_timeout,
              std::to_string(engine::retry_policy::remembered_for(given.settings.answer_timeout).count()),
              std::max(given.settings.redis.fair_liveness, 2 * given.settings.poll_gap),
              given.notify,
              [this] { return serials_.next(); }},
          wake_channels_(std::make_shared<wake_channels>(
              *db_, context_.short_id,
              wake_channel::callbacks{
                  [this](std::string_view token, std::string_view name) {
                      release_unwanted_grant(token, name);
                  },
                  [this](std::string_view owner, std::string_view asker, std::string_view name) {
                      notify_({.what = notice::change::evicted,
                               .owner = owner_id{std::string{owner}},
                               .confirm = [this, owner = std::string{owner}, asker = std::string{asker},
                                           name = std::string{name}] { acknowledge(owner, asker, name); }});
                  },
                  [this](std::string_view owner) { evictions_.confirm(owner); },
                  [this](std::string_view why) {
                      notify_({notice::change::no_channel_right,
                               "waiters have to poll, messages are refused: " + refusal(why).in_one(),
                               {}});
                  }})),
          protocols_(make_protocols()),
          renewals_(
              *db_, [this](kind k) -> lock_protocol& { return protocol_of(k); },
              [this](milliseconds lease) { return !quarantine_ || !quarantine_->too_long(lease); }),
          doctor_(given.reactor, given.settings.url) {}

    // Destroys the database first: it answers all open requests, whose handlers use the protocols.
    ~redis_store() override {
        doctor_.close();
        wake_channels_->close();
        db_.reset();
    }

    const capabilities& has() const noexcept override { return what_we_have; }
    traffic statistics() const noexcept override { return {db_->commands_sent(), db_->smoothed_rtt()}; }
    owner_id new_owner(kind k, std::uint32_t permits) override { return protocol_of(k).new_owner(permits); }

    std::string_view reserved_for(const lock_name& name) const override {
        return purpose_of_own_key(name.str());
    }
    std::uint32_t shard_of(const lock_key& key) const override { return db_->slot_of(key.name.str()); }
    std::string server_of(const lock_key& key) const override { return db_->server_of(key.name.str()); }
    // A message on a Redisson channel is for all waiters; one for a mutex or a fair mutex is for a single
    // waiter.
    bool wakes_all(kind k) const noexcept override {
        return k == kind::recursive || k == kind::recursive_fenced || k == kind::shared_write ||
               k == kind::semaphore || k == kind::permit_semaphore;
    }
    // Redisson's forceUnlock does that.
    bool taken_by_force(kind k) const noexcept override { return engine::rules_of(k).reentrant; }

    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        if (too_old_.load(std::memory_order_relaxed)) {
            return done(refused{{make_error_code(errc::invalid_argument), std::string{server_too_old}}});
        }
        if (auto no = misfit(r.key)) return done(*std::move(no));
        if (quarantine_) {
            if (auto no = quarantine_->refuse_request(r.lease, boot_clock::now()))
                return done(*std::move(no));
            done = through_quarantine(r, deadline, std::move(done));
        }
        const runs_io_here here(reactor_);
        if (r.replicas.at_least > 0)
            done = once_replicated(*db_, protocol_of(r.key.of), r, deadline, std::move(done));
        protocol_of(r.key.of).attempt(r, deadline, std::move(done));
    }

    void renew(std::span<const renew_request> all, time_point deadline,
               handler<std::vector<renew_answer>> done) override {
        const runs_io_here here(reactor_);
        renewals_.send(all, deadline, std::move(done));
    }

    void release(const release_request& r, time_point deadline, handler<release_answer> done) override {
        if (auto no = misfit(r.key)) return done(*std::move(no));
        const runs_io_here here(reactor_);
        protocol_of(r.key.of).release(r, deadline, std::move(done));
    }

    void adjust(const adjust_request& r, time_point deadline, handler<adjust_answer> done) override {
        if (auto no = misfit(r.key)) return done(*std::move(no));
        const runs_io_here here(reactor_);
        protocol_of(r.key.of).adjust(r, deadline, std::move(done));
    }

    std::unique_ptr<watch_handle> watch(const lock_key& key, const owner_id& owner,
                                        handler<watch_event> on_event) override {
        if (!quarantine_) return protocol_of(key.of).watch(key, owner, std::move(on_event));
        // A message that grants does not show which server it comes from, so it only means "try again".
        return protocol_of(key.of).watch(key, owner, [on_event = std::move(on_event)](watch_event e) {
            e.message.ticket.clear();
            on_event(std::move(e));
        });
    }

    void inspect(const lock_name& name, holders_shown which, time_point deadline,
                 handler<result<lock_info>> done) override {
        const runs_io_here here(reactor_);
        redis_backend::inspect(context_, name, which, deadline, std::move(done));
    }

    void list(const std::string& glob, listed which, time_point deadline,
              handler<result<std::vector<lock_info>>> done) override {
        const runs_io_here here(reactor_);
        redis_backend::list(context_, glob, which, deadline, std::move(done));
    }

    void read_owner(const lock_name& name, time_point deadline, handler<result<std::string>> done) override {
        const runs_io_here here(reactor_);
        db_->command({"GET", name.str()}, deadline, [done = std::move(done)](const redis::outcome& o) {
            if (auto no = failed(o)) return done(*std::move(no));
            const auto& text = std::get<redis::reply>(o);
            done(text.is_text() ? text.text() : std::string{});
        });
    }

    void ask_to_give_up(const lock_name& name, const holder_info& of, time_point deadline,
                        handler<result<asked>> done) override {
        const runs_io_here here(reactor_);
        redis_backend::ask_to_give_up(context_, *wake_channels_, evictions_, name, of, deadline,
                                      std::move(done));
    }

    void evict(const lock_name& name, const std::vector<std::string>& owners, time_point deadline,
               handler<result<std::vector<evicted>>> done) override {
        const runs_io_here here(reactor_);
        const auto release = [this](const lock_key& key, const std::string& owner, time_point until,
                                    handler<release_answer> then) {
            if (auto no = misfit(key)) return then(*std::move(no));
            protocol_of(key.of).release({key, owner_id{owner}, false, true}, until, std::move(then));
        };
        redis_backend::evict(context_, release, name, owners, deadline, std::move(done));
    }

    void clear_line(const lock_name& name, const std::vector<std::string>& absent, time_point deadline,
                    handler<result<std::vector<std::string>>> done) override {
        const runs_io_here here(reactor_);
        redis_backend::clear_line(context_, name, absent, deadline, std::move(done));
    }

    bool hear_requests_for(const lock_name& name) override {
        wake_channels_->listen(name.str());
        return !db_->is_cluster();
    }

    void examine(const examine_request& wanted, time_point deadline,
                 handler<result<examination>> done) override {
        // A thread can run the I/O of only one of a cluster's connections.
        std::optional<runs_io_here> here;
        if (!db_->is_cluster()) here.emplace(reactor_);
        doctor_.examine(*db_, wanted, deadline, context_.answer_timeout,
                        with_what_we_know(wanted, deadline, std::move(done)));
    }

    void age_of_promotion(const std::string& which, note leave, time_point deadline,
                          handler<result<milliseconds>> done) override {
        ask_note(which, leave == note::left ? promotion_mark_ttl : "0", deadline, std::move(done));
    }

    void run_io(base::parker& me, time_point until) override { db_->run_io(me, until); }

    counters* as_counters() noexcept override { return this; }
    inspection* as_inspection() noexcept override { return this; }
    redlock_member* as_redlock_member() noexcept override { return this; }
    server_clock* as_server_clock() noexcept override { return this; }
    void read_clocks(time_point deadline, handler<result<std::vector<clock_reading>>> done) override {
        redis_backend::read_clocks(*db_, deadline, std::move(done));
    }

    void abandon() noexcept override {
        doctor_.abandon();
        db_->abandon();
    }

    // Only a quorum asks for it, and no member of a quorum is a cluster.
    io::pollable& connection() noexcept override { return static_cast<redis::node&>(*db_).connection(); }

  private:
    // The reactor reads the replies to its own commands; the sending thread reads all others.
    class runs_io_here {
      public:
        explicit runs_io_here(const io::reactor& r) {
            if (!r.in_thread()) will_.emplace();
        }

      private:
        std::optional<redis::will_run_io> will_;
    };

    // In the order of `kind`.
    std::array<std::unique_ptr<lock_protocol>, kinds> make_protocols() {
        return {make_string_mutex(context_, false, wake_channels_),
                make_string_mutex(context_, true, wake_channels_),
                make_recursive(context_, false),
                make_recursive(context_, true),
                make_fair(context_),
                make_shared_read(context_),
                make_shared_write(context_),
                make_semaphore(context_),
                make_permit_semaphore(context_),
                make_latch(context_)};
    }
    // Refuses before anything is sent: a lock that can be taken but not released is of no use.
    std::optional<refused> misfit(const lock_key& key) const {
        if (!context_.db.is_cluster() || protocol_of(key.of).fits_a_cluster(key.name)) return std::nullopt;
        return refused{{make_error_code(errc::invalid_argument), std::string{does_not_fit}}};
    }

    lock_protocol& protocol_of(kind k) const { return *protocols_[static_cast<std::size_t>(k)]; }

    // Accepts an answer only if the server cannot have forgotten a lock. Otherwise releases a grant, and
    // leaves the queue, before it reports the refusal.
    handler<attempt_answer> through_quarantine(const attempt_request& r, time_point deadline,
                                               handler<attempt_answer> done) {
        return [this, r, deadline,
                done = std::make_shared<handler<attempt_answer>>(std::move(done))](attempt_answer answer) {
            if (std::holds_alternative<granted>(answer)) quarantine_->on_write_accepted(boot_clock::now());
            const auto judge = [this, r, deadline, done, answer = std::move(answer)] {
                auto no = quarantine_->refuse_answer(boot_clock::now());
                const bool may_be_ours =
                    std::holds_alternative<granted>(answer) || std::holds_alternative<busy>(answer);
                if (!no || !may_be_ours) return (*done)(answer);
                protocol_of(r.key.of).release(
                    {r.key, r.owner, true}, deadline, [no = *std::move(no), done](const release_answer& a) {
                        const bool clean =
                            std::holds_alternative<released>(a) || std::holds_alternative<not_held>(a);
                        if (clean) return (*done)(no);
                        (*done)(unknown{no.why()});
                    });
            };
            if (const auto which = quarantine_->unknown_promotion(boot_clock::now()))
                look_at_note(*which, deadline, judge);
            else
                judge();
        };
    }

    void look_at_note(const std::string& server, time_point deadline, std::function<void()> then) {
        age_of_promotion(server, note::left, deadline,
                         [this, server, then = std::move(then)](const result<milliseconds>& age) {
                             if (const auto* const ago = std::get_if<milliseconds>(&age))
                                 quarantine_->promotion_noted(server, *ago, boot_clock::now());
                             // Otherwise the next request may get an answer.
                             else if (const auto& no = std::get<failure>(age); no.code != errc::unavailable)
                                 quarantine_->promotion_cannot_be_noted(server, no.in_one());
                             then();
                         });
    }

    // `kept` is how long an unused note survives; "0" only reads the note.
    void ask_note(const std::string& which, std::string_view kept, time_point deadline,
                  handler<result<milliseconds>> done) {
        const runs_io_here here(reactor_);
        context_.db.eval(ref(redis_scripts::promoted), std::array{promotion_mark},
                         std::array<std::string_view, 2>{which, kept}, deadline,
                         [done = std::move(done)](const redis::outcome& o) {
                             if (auto no = failed(o)) return done(*std::move(no));
                             const auto& age = std::get<redis::reply>(o);
                             if (!age.is_integer()) return done(unexpected_reply());
                             done(milliseconds{age.integer()});
                         });
    }

    // Adds to an examination what no server reports: whether the requested lock can have that name, and
    // whether it is in quarantine.
    handler<result<examination>> with_what_we_know(const examine_request& wanted, time_point deadline,
                                                   handler<result<examination>> done) {
        const auto no = wanted.name ? misfit({wanted.of.value_or(kind::native), *wanted.name}) : std::nullopt;
        if (!quarantine_ && !no) return done;
        return [this, deadline, no, done = std::make_shared<handler<result<examination>>>(std::move(done))](
                   result<examination> found) {
            auto* const all = std::get_if<examination>(&found);
            if (all == nullptr) return (*done)(std::move(found));
            if (no) {
                doctor::report r{"the cluster"};
                r.danger("cluster-name", no->text);
                all->findings.push_back(r.findings().front());
            }
            if (!quarantine_) return (*done)(std::move(found));
            const auto finish = [this, done, all = *all](std::optional<milliseconds> noted) {
                auto with_it = all;
                add_quarantine(noted, with_it);
                (*done)(std::move(with_it));
            };
            const auto now = boot_clock::now();
            const auto which = quarantine_->unknown_promotion(now);
            if (!which) return finish({});
            age_of_promotion(*which, note::looked_for, std::min(deadline, now + context_.answer_timeout),
                             [finish](const result<milliseconds>& age) {
                                 const auto* const ago = std::get_if<milliseconds>(&age);
                                 finish(ago != nullptr ? std::optional{*ago} : std::nullopt);
                             });
        };
    }

    // The checks of the rights and the role find all other reasons why a lock is not granted.
    void add_quarantine(std::optional<milliseconds> noted, examination& to) const {
        const auto granting = std::find_if(to.servers.begin(), to.servers.end(),
                                           [](const auto& s) { return s.role != "sentinel"; });
        if (granting == to.servers.end()) return;
        const auto no = quarantine_->refusal_shown(noted, boot_clock::now());
        if (no && no->code != errc::quarantined) return;
        doctor::report r{granting->address};
        if (no)
            r.danger("quarantine", no->text);
        else
            r.ok("quarantine", "it grants locks");
        to.findings.push_back(r.findings().front());
    }

    // Reports to the client that asked for the lock that the lease has ended.
    void acknowledge(const std::string& owner, const std::string& asker, const std::string& name) {
        const auto to = wake_channels_->names_for(name);
        const auto channel = to.prefix + asker;
        const auto text = owner + " gave_up " + name;
        db_->command({to.publish, channel, text}, boot_clock::now() + context_.answer_timeout,
                     [](const redis::outcome&) {});
    }

    // Releases a grant whose waiter gave up while the message was on its way.
    void release_unwanted_grant(std::string_view token, std::string_view name) {
        if (name.empty() || name.size() > lock_name::max_size) return;
        protocol_of(kind::native)
            .release({{kind::native, lock_name{name}}, owner_id{std::string{token}}, true},
                     boot_clock::now() + milliseconds{2000}, [](const release_answer&) {});
    }

    void on_event(const redis::node_event& e) {
        using change = notice::change;
        using what = redis::node_event::what;
        switch (e.kind) {
            case what::up: {
                if (quarantine_) quarantine_->on_up(e, boot_clock::now());
                const auto major = e.server.version.substr(0, e.server.version.find('.'));
                too_old_.store(!major.empty() && major.size() == 1 && major < "5", std::memory_order_relaxed);
                if (e.restarted) notify_({change::restarted, "the server was restarted", {}});
                if (!e.moved_from.empty())
                    notify_({change::failed_over,
                             "the master moved from " + e.moved_from + " to " + e.server.address,
                             {}});
                const auto& policy = e.server.maxmemory_policy;
                if (!policy.empty() && policy != "noeviction") {
                    notify_({change::eviction_risk,
                             "maxmemory-policy is " + policy + "; locks need noeviction",
                             {}});
                }
                notify_({change::link_up,
                         e.server.product() + (e.address.empty() ? "" : " at " + e.address) +
                             (e.server.follows.empty()
                                  ? std::string{}
                                  : ", a replica of " + e.server.follows +
                                        ", which grants no locks: the URL of the master is meant, or "
                                        "redis+sentinel:// to follow the master"),
                         {},
                         e.server.run_id,
                         e.server.uptime,
                         e.server.promoted ? e.server.promotion() : std::string{},
                         e.server.role == "slave"});
                break;
            }
            case what::down:
            case what::refused:
                if (quarantine_) quarantine_->on_down(boot_clock::now());
                notify_({.what = change::link_down,
                         .detail = e.why.text,
                         .reason = e.kind == what::refused ? e.why.code : std::error_code{}});
                break;
        }
    }

    io::reactor& reactor_;
    const std::function<void(const notice&)> notify_;
    std::atomic<bool> too_old_{false};
    backends::owner_serials serials_;
    const std::unique_ptr<quarantine_filter> quarantine_;  // null: every answer counts
    std::unique_ptr<redis::database> db_;
    store_context context_;
    backends::confirmed_evictions evictions_;
    std::shared_ptr<wake_channels> wake_channels_;
    const std::array<std::unique_ptr<lock_protocol>, kinds> protocols_;
    const renewals renewals_;
    doctor::doctor doctor_;
};

}  // namespace

std::unique_ptr<store> open(const backends::services& given) {
    // Parsed once, because a URL may name files.
    return std::make_unique<redis_store>(given, parse_lock_url(given.settings.url));
}

}  // namespace holdfast::redis_backend
