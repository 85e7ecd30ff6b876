#include "interop/soak.hpp"

#include <hiredis/hiredis.h>

#include <atomic>
#include <deque>
#include <random>
#include <stdexcept>

namespace holdfast::test {

namespace {

// The numbers that are counted under a lock, over a connection of the thread's own.
class counted {
  public:
    counted() : connection_(redisConnect("127.0.0.1", interop_server().port()), &redisFree) {
        if (connection_ == nullptr || connection_->err != 0) throw std::runtime_error{"no connection"};
    }

    std::string read(const std::string& name) {
        const auto r = run("GET %s:counter", name);
        return r->type == REDIS_REPLY_NIL ? "0" : std::string{r->str, r->len};
    }
    void write(const std::string& name, const std::string& value, const std::string& who) {
        run("MULTI%s", "");
        const reply set{static_cast<redisReply*>(
            redisCommand(connection_.get(), "SET %s:counter %s", name.c_str(), value.c_str()))};
        run("INCR %s:tally", name);
        run(("INCR %s:" + who).c_str(), name);
        if (run("EXEC%s", "")->elements != 3) throw std::runtime_error{"the counter cannot be written"};
    }

  private:
    struct free_reply {
        void operator()(redisReply* r) const { freeReplyObject(r); }
    };
    using reply = std::unique_ptr<redisReply, free_reply>;

    reply run(const char* format, const std::string& name) {
        reply r{static_cast<redisReply*>(redisCommand(connection_.get(), format, name.c_str()))};
        if (r == nullptr || r->type == REDIS_REPLY_ERROR)
            throw std::runtime_error{"the counter does not answer"};
        return r;
    }

    std::unique_ptr<redisContext, void (*)(redisContext*)> connection_;
};

std::string next(const std::string& number) { return std::to_string(std::stoll(number) + 1); }

struct place {
    place(client& c, const std::string& kind)
        : name(soak_name(kind)),
          writers(soak_lock(c, kind)),
          readers(kind == "shared" ? &static_cast<shared_mutex&>(*writers).readers() : nullptr),
          reentrant(kind != plain_shared.java) {}

    std::string name;
    any_lock writers;
    exclusive_lock* readers;
    bool reentrant;
};

class worker {
  public:
    worker(const std::vector<place>& places, const soak_plan& plan, unsigned seed)
        : places_(places), plan_(plan), random_(seed) {}

    void turn() {
        const place& at = places_[up_to(places_.size())];
        const bool reads = at.readers != nullptr && up_to(3) > 0;
        exclusive_lock& lock = reads ? *at.readers : *at.writers;
        // As a lease, or as a standard lock of this thread.
        if (up_to(2) == 0) {
            const milliseconds wait{1 + up_to(300)};
            if (up_to(2) == 0) {
                if (!lock.try_lock_for(wait)) return;
            } else {
                lock.lock();
            }
            const bool twice = at.reentrant && up_to(4) == 0;
            if (twice) lock.lock();
            count(at.name, reads, [&] { return lock.valid(); });
            if (twice) lock.unlock();
            lock.unlock();
        } else {
            const lease held = acquire(lock);
            if (held) count(at.name, reads, [&] { return held.valid(); });
        }
    }

    // Between two turns. True if the work is over.
    template <class Enough>
    bool pause(Enough&& enough) {
        return enough() || eventually(milliseconds{up_to(plan_.pause.count() + 1)}, enough);
    }

  private:
    std::size_t up_to(std::size_t n) { return std::uniform_int_distribution<std::size_t>{0, n - 1}(random_); }

    lease acquire(exclusive_lock& lock) {
        const acquire_options bounded{.ttl = plan_.lease};
        const milliseconds wait{1 + up_to(300)};
        switch (up_to(5)) {
            case 0: return lock.try_acquire();
            case 1: return lock.try_acquire_for(wait);
            case 2: return lock.try_acquire_for(wait, bounded);
            case 3: return lock.acquire();
            default: return lock.acquire(bounded);
        }
    }

    template <class Valid>
    void count(const std::string& name, bool reads, Valid&& valid) {
        const std::string before = counter_.read(name);
        // Time in which another holder would do harm.
        if (up_to(4) == 0) (void)eventually(milliseconds{up_to(3)}, [] { return false; });
        if (reads) {
            const std::string after = counter_.read(name);
            if (before != after && valid())
                throw std::runtime_error{"a writer was inside beside a reader: " + before + " became " +
                                         after};
        } else if (valid()) {
            counter_.write(name, next(before), ourselves);
        }
    }

    const std::vector<place>& places_;
    const soak_plan& plan_;
    counted counter_;
    std::mt19937 random_;
};

// Drives one thread of a client that polls.
class guest {
  public:
    guest(peer& of, const soak_plan& plan, std::string thread)
        : they_(of), plan_(plan), thread_(std::move(thread)), random_(std::random_device{}()) {}

    // Takes the next step if the last one is done. False: the thread holds no lock, and takes none if
    // `at_an_end` and it has had a turn. A client that started slowly has its first turn when others have
    // ended.
    bool go_on(counted& counter, const std::string& who, bool at_an_end) {
        if (doing_ == step::nothing) {
            if (at_an_end && had_a_turn_) return false;
            enter();
            return true;
        }
        if (!under_way_->ready()) return true;
        const auto answer = under_way_->get();
        if (doing_ == step::entering && answer == "true") {
            before_ = counter.read(name_);
            // A request between read and write gives another holder time to do harm.
            if (random_() % 4 == 0)
                tell(step::counting, "extend", {lease()});
            else
                tell(step::counting, "owner", {});
        } else if (doing_ == step::counting) {
            counter.write(name_, next(before_), who);
            had_a_turn_ = true;
            tell(step::leaving, "unlock", {});
        } else {
            doing_ = step::nothing;
        }
        return true;
    }

  private:
    enum class step { nothing, entering, counting, leaving };

    void enter() {
        name_ = soak_name(plan_.kinds[random_() % plan_.kinds.size()]);
        if (random_() % 3 == 0)
            tell(step::entering, "lock", {lease()});
        else
            tell(step::entering, "try",
                 {random_() % 2 == 0 ? 0 : static_cast<long>(1 + random_() % 300), lease()});
    }
    void tell(step doing, std::string_view verb, const std::vector<long>& arguments) {
        doing_ = doing;
        under_way_ = they_.ask(thread_, verb, "mutex", name_, arguments);
    }
    [[nodiscard]] long lease() const { return plan_.lease.count(); }

    peer& they_;
    const soak_plan& plan_;
    const std::string thread_;
    std::mt19937 random_;
    step doing_ = step::nothing;
    bool had_a_turn_ = false;
    std::string name_;
    std::string before_;
    std::optional<peer::request> under_way_;
};

using soak_clock = std::chrono::steady_clock;

void soak_through(const std::string& who, const soak_plan& plan) {
    const auto end = soak_clock::now() + plan.time;
    const auto they = start_poller(interop_server(), who);
    counted counter;
    std::deque<guest> guests;
    for (int i = 0; i < plan.threads; ++i) guests.emplace_back(*they, plan, std::to_string(i));
    for (bool somebody_inside = true; somebody_inside;) {
        somebody_inside = false;
        for (auto& one : guests)
            somebody_inside = one.go_on(counter, who, soak_clock::now() >= end) || somebody_inside;
        (void)they->process().wait_for_output("\n", milliseconds{5});
        if (!they->process().running()) throw std::runtime_error{who + " ended: " + they->process().errors()};
    }
}

void soak_ourselves(const soak_plan& plan) {
    const auto end = soak_clock::now() + plan.time;
    config c = settings(interop_server().url(), plan.lease);
    c.redis.fair_liveness = plan.lease;
    client locks{c};
    std::vector<place> places;
    for (const auto& kind : plan.kinds) places.emplace_back(locks, kind);

    std::atomic<bool> wrong = false;
    std::vector<std::future<void>> threads;
    std::random_device seeds;
    for (int i = 0; i < plan.threads; ++i) {
        threads.push_back(in_background([&, seed = seeds()] {
            const auto enough = [&] { return soak_clock::now() >= end || wrong; };
            try {
                for (worker w{places, plan, seed}; !w.pause(enough);) w.turn();
            } catch (...) {
                wrong = true;
                throw;
            }
        }));
    }
    for (auto& thread : threads) thread.get();
}

}  // namespace

any_lock soak_lock(client& c, const std::string& kind) {
    for (const auto& known : {fair_shared, fenced_shared, recursive_shared, plain_shared})
        if (kind == known.java) return known.make(c, soak_name(kind));
    return writing_shared.make(c, soak_name(kind));
}

int soak(const parent_link& parent, const soak_plan& plan, const std::string& who) {
    try {
        if (who == ourselves)
            soak_ourselves(plan);
        else
            soak_through(who, plan);
    } catch (const std::exception& e) {
        parent.report(std::string{"wrong: "} + e.what());
        return 1;
    }
    parent.report("done");
    return 0;
}

}  // namespace holdfast::test
