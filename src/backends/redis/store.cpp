#include "backends/redis/store.hpp"

#include "backends/redis/answers.hpp"
#include "backends/redis/inspection.hpp"
#include "backends/redis/keys.hpp"
#include "backends/redis/layout.hpp"
#include "backends/redis/wake_board.hpp"
#include "base/clock.hpp"
#include "io/reactor.hpp"
#include "redis/url.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <tuple>
#include <utility>

namespace holdfast::redis_backend {

namespace {

using namespace backend;

constexpr capabilities what_we_have{"redis", strength::single, true, true};
// A script over more keys would hold up other clients of the server for more than 0.2 ms
// (docs/performance.md).
constexpr std::size_t renewals_a_script = 100;

redis::node_config config_of(const backends::services& given, std::string_view short_id) {
    auto config = redis::parse_url(given.settings.url);
    config.connections = given.settings.connections;
    config.client_name = connection_name(short_id, given.settings.program);
    return config;
}

class redis_store final : public store {
  public:
    explicit redis_store(const backends::services& given)
        : reactor_(given.reactor),
          tell_(given.tell),
          node_(std::make_unique<redis::node>(config_of(given, given.id.base64url()), given.reactor,
                                              [this](const redis::node_event& e) { on_event(e); })),
          around_{*node_,
                  given.id.base64url(),
                  given.id.uuid(),
                  given.settings.answer_timeout,
                  std::max(given.settings.fair_liveness, 2 * given.settings.poll_gap),
                  given.tell,
                  [this] { return next_serial(); }},
          board_(std::make_shared<wake_board>(
              *node_, std::string{wake_prefix} + around_.short_id,
              [this](std::string_view token, std::string_view name) { give_back(token, name); },
              [this](std::string_view token) {
                  tell_({notice::change::evicted, "by an operator", owner_id{std::string{token}}});
              },
              [this](std::string_view why) {
                  tell_({notice::change::no_channel_right,
                         "waiters have to poll, messages are refused: " + std::string{why},
                         {}});
              })),
          layouts_(make_layouts()) {}

    // The node goes first: it answers what is still open, and those handlers use the layouts.
    ~redis_store() override {
        board_->close();
        node_.reset();
    }

    const capabilities& has() const noexcept override { return what_we_have; }
    traffic seen() const noexcept override { return {node_->commands_sent(), node_->smoothed_rtt()}; }
    owner_id new_owner(kind k, std::uint32_t permits) override { return layout_of(k).new_owner(permits); }

    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        if (too_old_.load(std::memory_order_relaxed)) {
            return done(refused{{make_error_code(errc::unavailable), "the server is older than Redis 7.0"}});
        }
        const driven_here here(reactor_);
        layout_of(r.key.of).attempt(r, deadline, std::move(done));
    }

    void renew(std::span<const renew_request> all, time_point deadline,
               handler<std::vector<renew_answer>> done) override {
        struct collected {
            std::vector<renew_answer> answers;
            std::size_t open;
            handler<std::vector<renew_answer>> done;
        };
        const driven_here here(reactor_);
        // Scripts for one layout and lease each; `places` are the positions in the answer. With several
        // connections a script goes over that of its first lock: whether the renewal of another overtakes its
        // release or is overtaken says nothing to anybody. A hold count, whose order matters, is sent alone.
        std::vector<std::vector<std::size_t>> batches;
        std::map<std::tuple<kind, milliseconds, std::uint32_t>, std::size_t> filling;
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto& batch = filling[{all[i].key.of, all[i].lease, all[i].holds}];
            if (batch == 0 || batches[batch - 1].size() == renewals_a_script) {
                batches.emplace_back();
                batch = batches.size();
            }
            batches[batch - 1].push_back(i);
        }
        if (batches.empty()) return done({});
        const auto state = std::make_shared<collected>(
            collected{std::vector(all.size(), renew_answer::unknown), batches.size(), std::move(done)});
        for (auto& places : batches) {
            const auto& layout = layout_of(all[places[0]].key.of);
            std::vector<std::string_view> keys;
            std::vector<std::string> args{std::to_string(all[places[0]].lease.count())};
            for (const auto i : places) {
                keys.push_back(all[i].key.name.str());
                layout.add_renew_args(all[i], args);
            }
            const std::vector<std::string_view> views(args.begin(), args.end());
            // All handlers run under the pump, one at a time, so `state` needs no lock.
            node_->eval(layout.renew_script(), keys, views, deadline,
                        [state, places = std::move(places)](const redis::outcome& o) {
                            if (const auto* reply = std::get_if<redis::reply>(&o);
                                reply && reply->is_array()) {
                                for (const auto i : places) state->answers[i] = renew_answer::renewed;
                                for (const auto& lost : reply->items()) {
                                    const auto place = static_cast<std::size_t>(lost.integer() - 1);
                                    if (place < places.size())
                                        state->answers[places[place]] = renew_answer::lost;
                                }
                            }
                            if (--state->open == 0) state->done(std::move(state->answers));
                        });
        }
    }

    void release(const release_request& r, time_point deadline, handler<release_answer> done) override {
        const driven_here here(reactor_);
        layout_of(r.key.of).release(r, deadline, std::move(done));
    }

    void adjust(const adjust_request& r, time_point deadline, handler<adjust_answer> done) override {
        const driven_here here(reactor_);
        layout_of(r.key.of).adjust(r, deadline, std::move(done));
    }

    std::unique_ptr<watch_handle> watch(const lock_key& key, const owner_id& owner,
                                        handler<watch_event> tell) override {
        return layout_of(key.of).watch(key, owner, std::move(tell));
    }

    void inspect(const lock_name& name, time_point deadline, handler<result<lock_info>> done) override {
        const driven_here here(reactor_);
        redis_backend::inspect(around_, name, deadline, std::move(done));
    }

    void list(const std::string& glob, time_point deadline,
              handler<result<std::vector<lock_info>>> done) override {
        const driven_here here(reactor_);
        redis_backend::list(around_, glob, deadline, std::move(done));
    }

    void evict(const lock_name& name, time_point deadline, handler<result<bool>> done) override {
        const driven_here here(reactor_);
        // An owner of no bytes is nobody's, and to the release scripts it is everybody.
        redis_backend::inspect(
            around_, name, deadline, [this, name, deadline, done = std::move(done)](auto seen) mutable {
                if (auto* no = std::get_if<failure>(&seen)) return done(*no);
                const auto& layout = std::get<lock_info>(seen).layout;
                if (layout == "free") return done(false);
                const auto of = kind_shown_as(layout);
                if (!of) return done(failure{make_error_code(errc::wrong_kind), "the key holds a " + layout});
                layout_of(*of).release({{*of, name}, owner_id{}, false}, deadline,
                                       [done = std::move(done)](const release_answer& a) {
                                           if (const auto* no = std::get_if<refused>(&a))
                                               return done(failure{no->code, no->text});
                                           if (const auto* no = std::get_if<unknown>(&a))
                                               return done(failure{no->code, no->text});
                                           done(std::holds_alternative<released>(a));
                                       });
            });
    }

    void lend(parker& me, time_point until) override { node_->drive(me, until); }

    void abandon() noexcept override { node_->abandon(); }

  private:
    // The reactor's own commands are read by the reactor; all others by the thread that sent them.
    class driven_here {
      public:
        explicit driven_here(const io::reactor& r) {
            if (!r.in_thread()) will_.emplace();
        }

      private:
        std::optional<redis::will_drive> will_;
    };

    // In the order of `kind`.
    std::array<std::unique_ptr<layout>, kinds> make_layouts() {
        return {make_native(around_, false, board_),
                make_native(around_, true, board_),
                make_recursive(around_, false),
                make_recursive(around_, true),
                make_fair(around_),
                make_shared_read(around_),
                make_shared_write(around_),
                make_semaphore(around_),
                make_permit_semaphore(around_),
                make_latch(around_)};
    }
    layout& layout_of(kind k) const { return *layouts_[static_cast<std::size_t>(k)]; }

    std::int64_t next_serial() {
        auto last = last_serial_.load(std::memory_order_relaxed);
        std::int64_t next = 0;
        do {
            next = std::max(last + 1, base::wall_microseconds());
        } while (!last_serial_.compare_exchange_weak(last, next, std::memory_order_relaxed));
        return next;
    }

    // A grant that nobody waits for: the waiter gave up while it was on its way.
    void give_back(std::string_view token, std::string_view name) {
        if (name.empty() || name.size() > lock_name::max_size) return;
        layout_of(kind::native)
            .release({{kind::native, lock_name{name}}, owner_id{std::string{token}}, true},
                     boot_clock::now() + milliseconds{2000}, [](const release_answer&) {});
    }

    void on_event(const redis::node_event& e) {
        using change = notice::change;
        using what = redis::node_event::what;
        switch (e.kind) {
            case what::up: {
                const auto major = e.server.version.substr(0, e.server.version.find('.'));
                too_old_.store(!major.empty() && major.size() == 1 && major < "7", std::memory_order_relaxed);
                if (e.restarted) tell_({change::restarted, "the server was started anew", {}});
                const auto& policy = e.server.maxmemory_policy;
                if (!policy.empty() && policy != "noeviction") {
                    tell_({change::eviction_risk,
                           "maxmemory-policy is " + policy + "; locks need noeviction",
                           {}});
                }
                tell_({change::link_up, "Redis " + e.server.version, {}});
                break;
            }
            case what::down:
            case what::refused: tell_({change::link_down, e.why.text, {}}); break;
        }
    }

    io::reactor& reactor_;
    const std::function<void(const notice&)> tell_;
    std::atomic<bool> too_old_{false};
    std::atomic<std::int64_t> last_serial_{0};
    std::unique_ptr<redis::node> node_;
    surroundings around_;
    std::shared_ptr<wake_board> board_;
    const std::array<std::unique_ptr<layout>, kinds> layouts_;
};

}  // namespace

std::unique_ptr<store> open(const backends::services& given) { return std::make_unique<redis_store>(given); }

}  // namespace holdfast::redis_backend
