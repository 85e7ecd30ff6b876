#include "backends/zookeeper/store.hpp"

#include "backends/zookeeper/contention.hpp"
#include "backends/zookeeper/eviction_requests.hpp"
#include "backends/zookeeper/examine.hpp"
#include "backends/zookeeper/latches.hpp"
#include "backends/zookeeper/locks_seen.hpp"
#include "backends/zookeeper/registers.hpp"
#include "backends/zookeeper/semaphore_counts.hpp"
#include "backends/zookeeper/server_time.hpp"
#include "backends/zookeeper/url.hpp"
#include "base/parker.hpp"
#include "base/random.hpp"
#include "engine/kinds.hpp"
#include "engine/retry_policy.hpp"
#include "store/counters.hpp"
#include "store/inspection.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace holdfast::zookeeper_backend {

namespace {

using namespace backend;

zookeeper::session_config config_of(const url& where, const config& settings) {
    constexpr milliseconds shortest{1'000};
    zookeeper::session_config to;
    to.servers = where.servers;
    to.credentials = where.credentials;
    // A lease that is renewed lasts for its whole length without an answer, less what a proof may be old:
    // a tick, and twice the time between two of them.
    to.timeout = std::clamp(std::max(settings.lease * 4 / 3, where.tick) + where.tick, shortest,
                            milliseconds{std::chrono::hours{1}});
    to.tick = where.tick;
    to.answer_timeout = settings.answer_timeout;
    to.drift = settings.drift;
    to.margin = settings.margin;
    return to;
}

class zookeeper_store final : public store, public counters, public inspection, public server_clock {
  public:
    zookeeper_store(const backends::services& given, const url& where)
        : reactor_(given.reactor),
          notify_(given.notify),
          servers_(where.servers),
          tick_(where.tick),
          access_(access_for(where)),
          paths_(where.chroot, where.base, where.names),
          session_(std::make_shared<zookeeper::session>(config_of(where, given.settings), given.reactor,
                                                        events())),
          contention_(session_, paths_, access_for(where), where.fences, bound_, given.notify),
          evictions_(session_, paths_, access_for(where)),
          latches_(session_, paths_, access_for(where),
                   engine::retry_policy::remembered_for(given.settings.answer_timeout)),
          counts_(session_, paths_, access_for(where),
                  engine::retry_policy::remembered_for(given.settings.answer_timeout)),
          registers_(session_, paths_, access_for(where)),
          words_(given.reactor) {
        // One server of several may be lost, if these are the voters.
        has_.guarantee = where.servers.size() >= 3 ? strength::quorum : strength::single;
        has_.fences_follow_time = where.fences == fence_source::time;
    }
    ~zookeeper_store() override {
        reactor_.run_and_wait([this] {
            base::guard lock(mutex_);
            closing_ = true;
            reactor_.cancel(timer_);
        });
        session_->close(leave_by_);
    }

    const capabilities& has() const noexcept override { return has_; }
    traffic statistics() const noexcept override { return {session_->requests(), session_->round_trip()}; }
    std::string_view unsupported(kind of) const noexcept override {
        if (paths_.names() == naming::curator || of == kind::latch) return {};
        if (role_of(of) == role::mutex && !is_semaphore(of)) return {};
        return "kazoo's readers, writers and semaphores are others than ours; use a mutex, or leave out "
               "names=kazoo";
    }
    milliseconds session_timeout() const noexcept override { return session_->timeout() + tick_; }
    // The id of a permit is made of the UUID in its node's name, in the form of other stores.
    owner_id new_owner(kind of, std::uint32_t permits) override {
        const auto id = base::client_id::make();
        if (of != kind::permit_semaphore) return owner_id{id.uuid()};
        return owner_id{permits > 1 ? id.hex() + '*' + std::to_string(permits) : id.hex()};
    }

    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        if (r.key.of == kind::latch) return latches_.attempt(r, deadline, std::move(done));
        keep_proving();
        contention_.attempt(r, deadline, std::move(done));
    }
    void renew(std::span<const renew_request> all, time_point deadline,
               handler<std::vector<renew_answer>> done) override {
        contention_.renew(all, deadline, std::move(done));
    }
    void release(const release_request& r, time_point deadline, handler<release_answer> done) override {
        if (r.key.of == kind::latch) return done(released{});  // waiters leave nothing there
        contention_.release(r, deadline, std::move(done));
    }
    void release_later(const lock_key& key, const owner_id& owner) noexcept override {
        contention_.release_later(key, owner);
    }
    std::unique_ptr<watch_handle> watch(const lock_key& key, const owner_id& owner,
                                        handler<watch_event> on_event) override {
        if (key.of == kind::latch) return latches_.watch(key, owner, std::move(on_event));
        return contention_.watch(key, owner, std::move(on_event));
    }
    void adjust(const adjust_request& r, time_point deadline, handler<adjust_answer> done) override {
        if (r.key.of == kind::latch) return latches_.adjust(r, deadline, std::move(done));
        if (r.what == adjustment::raise_fence) return contention_.raise_fence(r, deadline, std::move(done));
        if (r.what != adjustment::disown) return counts_.adjust(r, deadline, std::move(done));
        // Its nodes are gone with the permits, so the lease has ended.
        counts_.adjust(r, deadline, [this, r, deadline, kept = std::move(done)](adjust_answer a) mutable {
            if (std::holds_alternative<adjusted>(a))
                contention_.release({.key = r.key, .owner = r.owner}, deadline, [](const release_answer&) {});
            kept(std::move(a));
        });
    }
    void run_io(base::parker& me, time_point until) override { me.park_until(until); }

    // --- for operators -----------------------------------------------------------------------------

    void inspect(const lock_name& name, holders_shown most, time_point deadline,
                 handler<result<lock_info>> done) override {
        read_lock(session_, paths_, name, most, deadline, shared(std::move(done)));
    }
    void list(const std::string& glob, listed, time_point deadline,
              handler<result<std::vector<lock_info>>> done) override {
        list_locks(session_, paths_, glob, deadline, shared(std::move(done)));
    }
    void ask_to_give_up(const lock_name& name, const holder_info& of, time_point deadline,
                        handler<result<asked>> done) override {
        evictions_.ask(name, of, deadline, std::move(done));
    }
    void evict(const lock_name& name, const std::vector<std::string>& owners, time_point deadline,
               handler<result<std::vector<evicted>>> done) override {
        evictions_.evict(name, owners, deadline, std::move(done));
    }
    // The node of a waiter is gone when its session is.
    void clear_line(const lock_name&, const std::vector<std::string>&, time_point,
                    handler<result<std::vector<std::string>>> done) override {
        done(std::vector<std::string>{});
    }
    bool hear_requests_for(const lock_name& name) override {
        contention_.watch_held(name);
        return false;
    }
    void examine(const examine_request& what, time_point deadline,
                 handler<result<examination>> done) override {
        zookeeper_backend::examine(session_, words_, paths_, {servers_, tick_, what.lease, what.name},
                                   deadline, shared(std::move(done)));
    }

    bool has_pending() const noexcept override { return session_->has_pending(); }
    void leave_by(time_point until) noexcept override { leave_by_ = until; }
    void abandon() noexcept override { session_->abandon(); }
    counters* as_counters() noexcept override { return this; }
    inspection* as_inspection() noexcept override { return this; }
    linearizable_register* as_register() noexcept override { return &registers_; }
    server_clock* as_server_clock() noexcept override { return this; }
    void read_clocks(time_point deadline, handler<result<std::vector<clock_reading>>> done) override {
        zookeeper_backend::read_clocks(session_, paths_, access_, deadline, std::move(done));
    }

  private:
    static zookeeper::access access_for(const url& where) {
        return where.credentials.empty() ? zookeeper::access::anyone : zookeeper::access::creator;
    }

    // Handlers can only be moved, functions are copied.
    template <class T>
    static std::function<void(T)> shared(handler<T> done) {
        return
            [kept = std::make_shared<handler<T>>(std::move(done))](T answer) { (*kept)(std::move(answer)); };
    }

    zookeeper::session::events events() {
        return {
            .attached =
                [this](const zookeeper::session::attachment& to) {
                    if (to.shortened) bound_.shorten(*to.shortened);
                    notify_({.what = notice::change::link_up, .detail = to.server});
                    prove_in_time();
                    contention_.on_attached(to.session);
                    latches_.on_attached();
                },
            .detached =
                [this](const std::string& why, std::error_code reason) {
                    notify_({.what = notice::change::link_down, .detail = why, .reason = reason});
                },
            .expired =
                [this](const std::string& why) {
                    bound_.end();
                    contention_.on_expired();
                    evictions_.on_expired();
                    notify_({.what = notice::change::session_lost, .detail = why});
                },
            .watched =
                [this](const zookeeper::event& e) {
                    contention_.on_event(e);
                    latches_.on_event(e);
                },
            .proven = [this](time_point until) { bound_.proven(until); },
        };
    }

    // While somebody holds or waits, the session is proved again and again.
    void keep_proving() {
        if (proving_) return;
        base::guard lock(mutex_);
        if (proving_) return;
        prove_later();
        proving_ = true;
    }
    // The timeout may be much shorter than what was asked for.
    void prove_in_time() {
        base::guard lock(mutex_);
        if (proving_) prove_later();
    }
    void prove_later() REQUIRES(mutex_) {
        constexpr milliseconds shortest{50};
        if (closing_) return;
        if (timer_.serial != 0) reactor_.cancel(timer_);
        timer_ = reactor_.at(boot_clock::now() + std::max(shortest, session_->timeout() / 10),
                             [this] { prove(); });
    }
    void prove() {
        {
            // Before it looks: whoever begins from here on starts it again.
            base::guard lock(mutex_);
            proving_ = false;
        }
        const auto until = boot_clock::now() + session_->timeout() / 3;
        contention_.prove(until, [this] { keep_proving(); });
    }

    io::reactor& reactor_;
    const std::function<void(const notice&)> notify_;
    const std::vector<zookeeper::server> servers_;
    const milliseconds tick_;
    const zookeeper::access access_;
    capabilities has_{.ends = lease_end::by_session, .renewals_at_a_time = 500, .queues_at_once = true};
    const paths paths_;
    session_bound bound_;
    const std::shared_ptr<zookeeper::session> session_;
    contention contention_;
    eviction_requests evictions_;
    latches latches_;
    semaphore_counts counts_;
    registers registers_;
    zookeeper::server_words words_;
    time_point leave_by_{};
    std::atomic<bool> proving_{false};  // changed under the mutex
    base::mutex mutex_;
    io::timer_id timer_ GUARDED_BY(mutex_);
    bool closing_ GUARDED_BY(mutex_) = false;
};

}  // namespace

std::unique_ptr<store> open(const backends::services& given) {
    return std::make_unique<zookeeper_store>(given, parse_url(given.settings.url));
}

}  // namespace holdfast::zookeeper_backend
