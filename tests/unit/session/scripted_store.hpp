// A store that answers when and what a test says.
#pragma once

#include "base/parker.hpp"
#include "engine/kinds.hpp"
#include "session/client_lock.hpp"
#include "session/client_state.hpp"
#include "store/counters.hpp"
#include "store/inspection.hpp"
#include "store/store.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::session {

using namespace std::chrono_literals;

class scripted_store final : public backend::store, public backend::counters, public backend::inspection {
  public:
    backend::capabilities can{};  // to be set before there is a lease

    // The answers to the next attempts; an attempt without one is granted.
    void will_answer(backend::attempt_answer a) {
        const std::lock_guard hold{mutex_};
        attempts_.push_back(std::move(a));
    }
    // Sends a message to the latest watcher.
    void wake(std::string ticket = {}) {
        const auto wake = [&] {
            const std::lock_guard hold{mutex_};
            return watching_;
        }();
        (*wake)({backend::watch_event::change::woken, {std::move(ticket)}});
    }

    // The nth renewal; waits until it is sent. `answer` answers it.
    [[nodiscard]] backend::renew_request renewal(std::size_t n) {
        std::unique_lock hold{mutex_};
        if (!changed_.wait_for(hold, patience, [&] { return renewals_.size() > n; }))
            throw std::runtime_error("renewal " + std::to_string(n) + " was not sent");
        return renewals_[n].what;
    }
    void answer(std::size_t n, backend::renew_answer a) {
        backend::handler<std::vector<backend::renew_answer>> done;
        {
            const std::lock_guard hold{mutex_};
            done = std::exchange(renewals_.at(n).done, nullptr);
        }
        done({std::move(a)});
    }
    void renews(std::size_t n) { answer(n, backend::renewed{renewal(n).lease}); }
    // Each renewal works at once. Otherwise one of the two above answers it.
    void renews_at_once(bool does) {
        const std::lock_guard hold{mutex_};
        at_once_ = does;
    }
    [[nodiscard]] std::size_t renewals() {
        const std::lock_guard hold{mutex_};
        return renewals_.size();
    }
    // Open watches.
    [[nodiscard]] int watches() const noexcept { return watches_; }
    // Called on the thread that sends a release.
    void on_release(std::function<void()> call) {
        const std::lock_guard hold{mutex_};
        on_release_ = std::move(call);
    }
    // Called when messages that ask for this lock must be received. Those for other locks then are not.
    void on_hear_requests(std::function<void(const lock_name&)> call) {
        const std::lock_guard hold{mutex_};
        on_hear_requests_ = std::move(call);
    }
    // The next n.
    void refuses_releases(int n) {
        const std::lock_guard hold{mutex_};
        refusals_ = n;
    }
    [[nodiscard]] int refused(const lock_name& name) {
        const std::lock_guard hold{mutex_};
        return refused_[name];
    }
    // How many owners have been granted a lock and have not released it.
    [[nodiscard]] std::size_t taken() {
        const std::lock_guard hold{mutex_};
        return taken_.size();
    }
    void forget_taken() {
        const std::lock_guard hold{mutex_};
        taken_.clear();
    }
    [[nodiscard]] std::size_t most_renewals_in_a_call() {
        const std::lock_guard hold{mutex_};
        return most_in_a_call_;
    }
    [[nodiscard]] int watches_ever() const noexcept { return watches_ever_; }
    // From now on no release is answered.
    void is_silent_to_releases() {
        const std::lock_guard hold{mutex_};
        silent_ = true;
    }

    const backend::capabilities& has() const noexcept override { return can; }
    backend::traffic statistics() const noexcept override { return {}; }
    owner_id new_owner(backend::kind, std::uint32_t) override {
        const std::lock_guard hold{mutex_};
        return owner_id{"me|" + std::to_string(++serial_)};
    }
    backend::milliseconds session{0};  // what can.ends by_session means; to be set likewise
    backend::milliseconds session_timeout() const noexcept override { return session; }
    bool taken_by_force(backend::kind k) const noexcept override { return engine::rules_of(k).reentrant; }
    void attempt(const backend::attempt_request& what, backend::time_point,
                 backend::handler<backend::attempt_answer> done) override {
        backend::attempt_answer a = backend::granted{what.lease};
        {
            const std::lock_guard hold{mutex_};
            if (!attempts_.empty()) {
                a = std::move(attempts_.front());
                attempts_.pop_front();
            }
            if (std::holds_alternative<backend::granted>(a)) taken_.insert(what.owner.str());
        }
        done(std::move(a));
    }
    void renew(std::span<const backend::renew_request> all, backend::time_point,
               backend::handler<std::vector<backend::renew_answer>> done) override {
        bool at_once = false;
        {
            const std::lock_guard hold{mutex_};
            at_once = at_once_;
            most_in_a_call_ = std::max(most_in_a_call_, all.size());
            renewals_.push_back({all.front(), at_once ? nullptr : std::move(done)});
        }
        changed_.notify_all();
        if (!at_once) return;
        std::vector<backend::renew_answer> yes;
        for (const auto& r : all) yes.emplace_back(backend::renewed{r.lease});
        done(std::move(yes));
    }
    void release(const backend::release_request& r, backend::time_point,
                 backend::handler<backend::release_answer> done) override {
        std::function<void()> seen;
        bool refuses = false;
        {
            const std::lock_guard hold{mutex_};
            if (silent_) return unanswered_.push_back(std::move(done));
            if (refusals_ == 0) taken_.erase(r.owner.str());
            seen = on_release_;
            if (refusals_ > 0) {
                --refusals_;
                ++refused_[r.key.name];
                seen = nullptr;
                refuses = true;
            }
        }
        if (refuses) return done(backend::refused{{errc::busy_server}});
        if (seen) seen();
        done(backend::released{});
    }
    void adjust(const backend::adjust_request&, backend::time_point,
                backend::handler<backend::adjust_answer>) override {}
    std::unique_ptr<backend::watch_handle> watch(const backend::lock_key&, const owner_id&,
                                                 backend::handler<backend::watch_event> on_event) override {
        const auto shared = std::make_shared<backend::handler<backend::watch_event>>(std::move(on_event));
        {
            const std::lock_guard hold{mutex_};
            watching_ = shared;
        }
        ++watches_ever_;
        (*shared)({backend::watch_event::change::watching, {}});
        return std::make_unique<counted>(watches_);
    }
    bool hear_requests_for(const lock_name& name) override {
        std::function<void(const lock_name&)> seen;
        {
            const std::lock_guard hold{mutex_};
            seen = on_hear_requests_;
        }
        if (!seen) return true;
        seen(name);
        return false;
    }
    void inspect(const lock_name&, backend::holders_shown, backend::time_point,
                 backend::handler<backend::result<backend::lock_info>>) override {}
    void list(const std::string&, backend::listed, backend::time_point,
              backend::handler<backend::result<std::vector<backend::lock_info>>>) override {}
    void ask_to_give_up(const lock_name&, const backend::holder_info&, backend::time_point,
                        backend::handler<backend::result<backend::asked>>) override {}
    void evict(const lock_name&, const std::vector<std::string>&, backend::time_point,
               backend::handler<backend::result<std::vector<backend::evicted>>>) override {}
    void clear_line(const lock_name&, const std::vector<std::string>&, backend::time_point,
                    backend::handler<backend::result<std::vector<std::string>>>) override {}
    void examine(const backend::examine_request&, backend::time_point,
                 backend::handler<backend::result<examination>>) override {}
    backend::counters* as_counters() noexcept override { return this; }
    backend::inspection* as_inspection() noexcept override { return this; }
    void run_io(base::parker& me, backend::time_point until) override { me.park_until(until); }
    void abandon() noexcept override {}

  private:
    static constexpr auto patience = 20s;

    struct counted final : backend::watch_handle {
        explicit counted(std::atomic<int>& of) : all(of) { ++all; }
        ~counted() override { --all; }
        std::atomic<int>& all;
    };
    struct sent {
        backend::renew_request what;
        backend::handler<std::vector<backend::renew_answer>> done;
    };

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<backend::attempt_answer> attempts_;
    std::vector<sent> renewals_;
    bool at_once_ = false;
    std::function<void()> on_release_;
    std::function<void(const lock_name&)> on_hear_requests_;
    bool silent_ = false;
    std::set<std::string> taken_;
    int refusals_ = 0;
    std::map<lock_name, int> refused_;
    std::size_t most_in_a_call_ = 0;
    std::atomic<int> watches_ever_{0};
    std::vector<backend::handler<backend::release_answer>> unanswered_;
    std::shared_ptr<backend::handler<backend::watch_event>> watching_;
    std::atomic<int> watches_{0};
    std::int64_t serial_ = 0;
};

// The store of leases that ask for nothing.
inline backend::store& never_asked() {
    static scripted_store one;
    return one;
}

// A client of such a store.
class with_scripted_store : public ::testing::Test {
  protected:
    explicit with_scripted_store(config settings = {})
        : client(client_state::open(std::move(settings), [this](client_state&) {
              auto made = std::make_unique<scripted_store>();
              store = made.get();
              return made;
          })) {}
    // Closes the client before the locks of the test are destroyed.
    void TearDown() override { client->close(); }

    [[nodiscard]] std::shared_ptr<client_lock> lock_of(backend::kind k, const std::string& name = "stock") {
        return client->lock_of({k, lock_name{name}});
    }
    // By the calling thread, as lock() does it.
    static void lock(client_lock& on, std::optional<milliseconds> ttl = {}) {
        const auto got = on.acquire({.give_up_at = time_point::max(), .ttl = ttl, .by_thread = true});
        EXPECT_TRUE(std::holds_alternative<std::shared_ptr<hold>>(got));
    }

    scripted_store* store = nullptr;
    const std::shared_ptr<client_state> client;
};

}  // namespace holdfast::session
