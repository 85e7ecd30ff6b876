#include "chaos/runner/subject.hpp"
#include "server/task_mutex.hpp"

#include <holdfast/holdfast.hpp>

#include <atomic>
#include <functional>
#include <stop_token>
#include <thread>

namespace holdfast::chaos {

namespace {

using std::chrono::milliseconds;
using nesting = std::function<lease(const lease&)>;

class leased final : public grant {
  public:
    explicit leased(lease l) : held(std::move(l)), lost_(held.lost_token()) {}

    [[nodiscard]] bool valid() const override { return held.valid(); }
    [[nodiscard]] time_ns deadline() const override { return held.deadline().time_since_epoch().count(); }
    [[nodiscard]] std::uint64_t fence() const override { return to_number(held.fence()); }
    [[nodiscard]] std::uint64_t token() const override {
        return std::hash<std::string>{}(held.owner().str());
    }
    phase release() override {
        const auto end = held.release();
        if (end == release_outcome::released) return phase::ok;
        return end == release_outcome::already_lost ? phase::fail : phase::info;
    }
    [[nodiscard]] std::optional<bool> loss_reported() const override { return lost_.stop_requested(); }

    lease held;

  private:
    std::stop_token lost_;
};

// A lease of any kind of lock is acquired in the same way.
template <class Lock>
answer ask(Lock& lock, const request& how) {
    const acquire_options options{.ttl = how.ttl, .permits = how.permits};
    std::error_code ec;
    lease l;
    if (how.wait == never)
        l = lock.acquire(options, ec);
    else if (how.wait == 0)
        l = lock.try_acquire(options, ec);
    else
        l = lock.try_acquire_for(std::chrono::ceil<milliseconds>(std::chrono::nanoseconds{how.wait}), options,
                                 ec);
    if (l) return {phase::ok, std::make_unique<leased>(std::move(l)), 0};
    if (!ec || ec == errc::timed_out) return {phase::busy, nullptr, 0};
    return {phase::fail, nullptr, ec.value()};
}

class leasing : public subject {
  public:
    answer acquire(const request& how) override { return ask(on(how.side), how); }
    answer nest(grant& outer) override {
        try {
            return {phase::ok, std::make_unique<leased>(again(static_cast<leased&>(outer).held)), 0};
        } catch (const error& e) {
            return {phase::fail, nullptr, e.code().value()};
        }
    }

  protected:
    virtual leasable& on(side which) = 0;
    virtual lease again(const lease&) { throw error(errc::invalid_argument, "this lock does not nest"); }
};

template <class Lock>
class plain_leasing final : public leasing {
  public:
    template <class... Arguments>
    explicit plain_leasing(Arguments&&... arguments) : lock_(std::forward<Arguments>(arguments)...) {}

  private:
    leasable& on(side) override { return lock_; }
    lease again(const lease& outer) override {
        if constexpr (requires { lock_.acquire(outer); }) return lock_.acquire(outer);
        return leasing::again(outer);
    }

    Lock lock_;
};

class held_by_thread final : public grant {
  public:
    held_by_thread(recursive_mutex& lock, unsigned at_depth) : depth(at_depth), lock_(lock) {}

    [[nodiscard]] bool valid() const override { return lock_.valid(); }
    // unlock() does not return its outcome.
    phase release() override {
        lock_.unlock();
        return phase::info;
    }

    const unsigned depth;

  private:
    recursive_mutex& lock_;
};

// The two outer holds have a short lease that is not renewed; a hold further in makes the lease longer, with
// renewal.
class changing_lease final : public subject {
  public:
    changing_lease(client& c, const std::string& name, milliseconds lease, const replication& replicas)
        : brief_(c, name, {.ttl = lease / 2, .replicas = replicas}),
          renewed_(c, name, {.replicas = replicas}) {}

    answer acquire(const request& how) override {
        return answer_of([&]() -> std::unique_ptr<grant> {
            if (how.wait == never)
                brief_.lock();
            else if (!brief_.try_lock_for(std::chrono::nanoseconds{how.wait}))
                return nullptr;
            return std::make_unique<held_by_thread>(brief_, 1);
        });
    }
    answer nest(grant& outer) override {
        const auto depth = static_cast<held_by_thread&>(outer).depth + 1;
        auto& lock = depth == 2 ? brief_ : renewed_;
        return answer_of([&] {
            lock.lock();
            return std::make_unique<held_by_thread>(lock, depth);
        });
    }

  private:
    template <class Fn>
    static answer answer_of(Fn hold) {
        try {
            auto held = hold();
            return {held ? phase::ok : phase::busy, std::move(held), 0};
        } catch (const error& e) {
            return {phase::fail, nullptr, e.code().value()};
        }
    }

    recursive_mutex brief_, renewed_;
};

class shared_leasing final : public leasing {
  public:
    shared_leasing(client& c, const std::string& name, const lock_options& how) : lock_(c, name, how) {}

  private:
    leasable& on(side which) override {
        if (which == side::reader) return lock_.readers();
        return lock_;
    }

    shared_mutex lock_;
};

class counting final : public countdown {
  public:
    counting(client& c, const std::string& name) : latch_(c, name) {}

    outcome use(action what, std::int64_t amount, time_ns wait) override {
        const auto yes_or_no = [](bool yes) { return outcome{yes ? phase::ok : phase::busy}; };
        try {
            switch (what) {
                case action::set: return yes_or_no(latch_.try_set_count(amount));
                case action::down: return {phase::ok, latch_.count_down(amount)};
                case action::read: return {phase::ok, latch_.count()};
                case action::erase: return yes_or_no(latch_.erase());
                case action::wait:
                    if (wait != never) return yes_or_no(latch_.wait_for(std::chrono::nanoseconds{wait}));
                    latch_.wait();
                    return {phase::ok};
                default: throw std::logic_error{"a latch has no such use"};
            }
        } catch (const error& e) {
            // These errors promise that nothing was changed.
            const bool not_done = e.code() == condition::try_later;
            return {not_done ? phase::fail : phase::info, 0, e.code().value()};
        }
    }

  private:
    latch latch_;
};

// Two locks that are acquired together.
class multi_leasing final : public leasing {
  public:
    multi_leasing(client& c, const run_lock& l, const replication& replicas)
        : first_(c, l.members.at(0), {.replicas = replicas}),
          second_(c, l.members.at(1), {.replicas = replicas}) {}

  private:
    leasable& on(side) override { return both_; }

    mutex first_, second_;
    multi_lock both_{first_, second_};
};

class task_leasing final : public subject {
  public:
    task_leasing(client& c, const std::string& name, const replication& replicas)
        : lock_(c, name, {.replicas = replicas}) {}

    answer acquire(const request& how) override { return ask(lock_, how); }
    answer nest(grant&) override { throw std::logic_error{"a mutex does not nest"}; }

  private:
    test::task_mutex lock_;
};

std::unique_ptr<subject> make(client& c, const run_lock& l, replication replicas, milliseconds lease) {
    const auto& name = l.row.name;
    if (l.row.best_effort) replicas = {};
    switch (l.kind) {
        case lock_kind::mutex:
            return std::make_unique<plain_leasing<mutex>>(c, name, mutex_options{.replicas = replicas});
        case lock_kind::fenced:
            return std::make_unique<plain_leasing<mutex>>(
                c, name, mutex_options{.fenced = true, .replicas = replicas});
        case lock_kind::recursive:
            return std::make_unique<plain_leasing<recursive_mutex>>(c, name,
                                                                    recursive_options{.replicas = replicas});
        case lock_kind::changing: return std::make_unique<changing_lease>(c, name, lease, replicas);
        case lock_kind::redisson_fenced:
            return std::make_unique<plain_leasing<fenced_mutex>>(c, name, lock_options{.replicas = replicas});
        case lock_kind::fair:
            return std::make_unique<plain_leasing<fair_mutex>>(c, name, lock_options{.replicas = replicas});
        case lock_kind::tasks: return std::make_unique<task_leasing>(c, name, replicas);
        case lock_kind::multi: return std::make_unique<multi_leasing>(c, l, replicas);
        case lock_kind::shared:
            return std::make_unique<shared_leasing>(c, name, lock_options{.replicas = replicas});
        case lock_kind::semaphore:
            return std::make_unique<plain_leasing<counting_semaphore>>(
                c, name, semaphore_options{.total = l.row.permits, .replicas = replicas});
        case lock_kind::permit_semaphore:
            return std::make_unique<plain_leasing<permit_semaphore>>(
                c, name, semaphore_options{.total = l.row.permits, .replicas = replicas});
        case lock_kind::latch:
        case lock_kind::scheme: break;
    }
    throw std::logic_error{"holdfast has no such lock"};
}

// Short times, so that much happens in a minute.
config settings_of(const setting& how) {
    config c;
    c.url = how.url;
    c.lease = how.session.value_or(how.lease);
    c.poll_gap = milliseconds{200};
    c.answer_timeout = milliseconds{500};
    c.patience = milliseconds{5'000};
    c.redis.fair_liveness = milliseconds{1'000};
    c.slow_callback = milliseconds{200};
    c.program = "chaos";
    return c;
}

// Every other process is a program that is careless with its callbacks.
bool has_slow_listener(const setting& how) { return std::hash<std::string>{}(how.who) % 2 == 0; }
void listen_slowly(const holdfast::event&) {
    static std::atomic<unsigned> received{0};
    if (++received % 50 == 0) std::this_thread::sleep_for(std::chrono::seconds{5});
}

class holdfast_subject_set final : public subject_set {
  public:
    explicit holdfast_subject_set(const setting& how) : client_(settings_of(how)) {
        if (has_slow_listener(how)) slow_listener_ = client_.on_event(listen_slowly);
        // As much as the shortest lease of a run allows: less than a third of it.
        const replication replicas{how.replicas, how.lease / 7};
        for (const auto& l : locks_of("holdfast", how.topology)) {
            const bool latch = l.kind == lock_kind::latch;
            locks_.push_back(latch ? nullptr : make(client_, l, replicas, how.lease));
            latches_.push_back(latch ? std::make_unique<counting>(client_, l.row.name) : nullptr);
        }
    }
    [[nodiscard]] subject& at(std::size_t lock) override { return *locks_.at(lock); }
    [[nodiscard]] countdown& latch_at(std::size_t lock) override { return *latches_.at(lock); }

  private:
    client client_;
    event_subscription slow_listener_;
    std::vector<std::unique_ptr<subject>> locks_;
    std::vector<std::unique_ptr<counting>> latches_;
};

}  // namespace

std::unique_ptr<subject_set> open_holdfast(const setting& how) {
    return std::make_unique<holdfast_subject_set>(how);
}

}  // namespace holdfast::chaos
