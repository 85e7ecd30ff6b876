#include "contract/session_store.hpp"

#include "backends/local/space.hpp"
#include "backends/registry.hpp"
#include "base/clock.hpp"
#include "base/parker.hpp"
#include "engine/kinds.hpp"
#include "engine/validity.hpp"
#include "io/reactor.hpp"
#include "store/bound.hpp"

#include <atomic>
#include <set>
#include <utility>

namespace holdfast::contract {

namespace {

using namespace backend;
using namespace std::chrono_literals;
using local_backend::space;

constexpr milliseconds session_length = 60s;
constexpr milliseconds between_signs_of_life = 100ms;
// By its own clock the store never frees a lock.
constexpr milliseconds for_ever = std::chrono::hours{24 * 365};

// Less than was asked for.
milliseconds given_for(milliseconds asked) { return std::max(milliseconds{1}, asked - asked / 8); }

// What a client has with the store: kept alive by asking now and then.
struct session {
    bound good_until;
    io::reactor& reactor;
    const engine::clock_margin margin;

    static void keep_alive(const std::weak_ptr<session>& which) {
        const auto s = which.lock();
        if (!s) return;
        const auto now = boot_clock::now();
        s->good_until.extend(engine::lease_request{now, session_length}.deadline(s->margin), now);
        s->reactor.at(now + between_signs_of_life, [which] { keep_alive(which); });
    }
};

class session_store final : public store, public counters, public inspection {
  public:
    explicit session_store(const backends::services& given)
        : reactor_(given.reactor),
          id_(given.id.base64url()),
          space_(space::named(given.settings.url)),
          session_(new session{bound{boot_clock::now() + session_length / 2},
                               given.reactor,
                               {given.settings.drift, given.settings.margin}}),
          member_(space_, [notify = given.notify](const owner_id& owner, std::function<void()> confirm) {
              notify({.what = notice::change::evicted, .owner = owner, .confirm = std::move(confirm)});
          }) {
        session::keep_alive(session_);
    }
    // The session ends, and all that it holds is free.
    ~session_store() override {
        reactor_.run_and_wait([] {});  // every handler was called
        for (const auto& [key, owner] : held_) (void)space_->release({key, owner, true});
    }

    const capabilities& has() const noexcept override { return what_we_have; }
    milliseconds session_timeout() const noexcept override { return session_length; }
    traffic statistics() const noexcept override { return {requests_.load(), {}}; }
    std::string_view unsupported(kind k) const noexcept override {
        return k == kind::fair ? "this store keeps no line of waiters" : "";
    }
    owner_id new_owner(kind k, std::uint32_t) override {
        if (k == kind::permit_semaphore) return owner_id{base::client_id::make().hex()};
        return owner_id{id_ + '|' + std::to_string(++serial_)};
    }

    void attempt(const attempt_request& r, time_point, handler<attempt_answer> done) override {
        auto asked = r;
        asked.lease = for_ever;
        auto a = space_->attempt(asked);
        if (auto* const yes = std::get_if<granted>(&a)) {
            yes->lease = given_for(r.lease);
            yes->kept_for = session_length;
            if (r.key.of != kind::latch) {
                yes->bound = {session_, &session_->good_until};
                base::guard lock(mutex_);
                held_.insert({r.key, r.owner});
            }
        } else if (auto* const no = std::get_if<busy>(&a)) {
            // No message will say that the lock is free.
            no->ticket.clear();
            no->look_again.reset();
        }
        answer(std::move(done), std::move(a));
    }
    void renew(std::span<const renew_request> all, time_point,
               handler<std::vector<renew_answer>> done) override {
        std::vector<renew_answer> answers;
        for (auto r : all) {
            const auto asked = std::exchange(r.lease, for_ever);
            auto a = space_->renew(r);
            if (auto* const yes = std::get_if<renewed>(&a)) yes->lease = given_for(asked);
            answers.push_back(std::move(a));
        }
        answer(std::move(done), std::move(answers));
    }
    void release(const release_request& r, time_point, handler<release_answer> done) override {
        {
            base::guard lock(mutex_);
            held_.erase({r.key, r.owner});
        }
        answer(std::move(done), space_->release(r));
    }
    void adjust(const adjust_request& r, time_point, handler<adjust_answer> done) override {
        answer(std::move(done), space_->adjust(r));
    }
    std::unique_ptr<watch_handle> watch(const lock_key&, const owner_id&, handler<watch_event>) override {
        throw std::logic_error("a store without messages was asked to watch for one");
    }
    void inspect(const lock_name& name, holders_shown, time_point, handler<result<lock_info>> done) override {
        auto seen = space_->inspect(name);
        seen.ttl.reset();  // the session's end is known to nobody
        answer(std::move(done), result<lock_info>{std::move(seen)});
    }
    void list(const std::string& glob, listed, time_point,
              handler<result<std::vector<lock_info>>> done) override {
        answer(std::move(done), space_->list(glob));
    }
    void ask_to_give_up(const lock_name& name, const holder_info& of, time_point,
                        handler<result<asked>> done) override {
        answer(std::move(done), space_->ask_to_give_up(name, of));
    }
    void evict(const lock_name& name, const std::vector<std::string>& owners, time_point,
               handler<result<std::vector<evicted>>> done) override {
        answer(std::move(done), space_->evict(name, owners));
    }
    void clear_line(const lock_name&, const std::vector<std::string>&, time_point,
                    handler<result<std::vector<std::string>>> done) override {
        answer(std::move(done), std::vector<std::string>{});
    }
    bool hear_requests_for(const lock_name&) override { return true; }
    void examine(const examine_request&, time_point, handler<result<examination>> done) override {
        answer(std::move(done), examination{});
    }
    void run_io(base::parker& me, time_point until) override { me.park_until(until); }
    bool taken_by_force(kind k) const noexcept override { return engine::rules_of(k).reentrant; }
    void abandon() noexcept override {}
    counters* as_counters() noexcept override { return this; }
    inspection* as_inspection() noexcept override { return this; }

  private:
    static constexpr capabilities what_we_have{.guarantee = strength::process_local,
                                               .ends = lease_end::by_session,
                                               .counted_by = lease_clock::of_this_host,
                                               .ask_every = 10ms,
                                               .renewals_at_a_time = 1};

    template <class Answer, class Done>
    void answer(Done done, Answer a) {
        ++requests_;
        // Handlers may only be moved, and the reactor copies what it runs.
        reactor_.post([both = std::make_shared<std::pair<Done, Answer>>(std::move(done), std::move(a))] {
            both->first(std::move(both->second));
        });
    }

    io::reactor& reactor_;
    const std::string id_;
    const std::shared_ptr<space> space_;
    const std::shared_ptr<session> session_;
    space::member member_;
    std::atomic<std::int64_t> serial_{0};
    std::atomic<std::uint64_t> requests_{0};
    base::mutex mutex_;
    std::set<std::pair<lock_key, owner_id>> held_ GUARDED_BY(mutex_);
};

}  // namespace

void add_session_store() {
    static const bool added = [] {
        backends::add("session", [](const backends::services& given) -> std::unique_ptr<store> {
            return std::make_unique<session_store>(given);
        });
        return true;
    }();
    (void)added;
}

}  // namespace holdfast::contract
