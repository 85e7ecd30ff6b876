#include "interop/soak.hpp"

#include <hiredis/hiredis.h>

#include <atomic>
#include <random>
#include <stdexcept>
#include <thread>

namespace holdfast::test {

namespace {

// What is counted under a lock, over a connection of the thread's own.
class counted {
  public:
    counted() : connection_(redisConnect("127.0.0.1", interop_server().port()), &redisFree) {
        if (connection_ == nullptr || connection_->err != 0) throw std::runtime_error{"no connection"};
    }

    std::string read(const std::string& name) {
        const auto r = run("GET %s:counter", name);
        return r->type == REDIS_REPLY_NIL ? "0" : std::string{r->str, r->len};
    }
    void write(const std::string& name, const std::string& value) {
        run("MULTI%s", "");
        const reply set{static_cast<redisReply*>(
            redisCommand(connection_.get(), "SET %s:counter %s", name.c_str(), value.c_str()))};
        run("INCR %s:tally", name);
        run("INCR %s:holdfast", name);
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

struct place {
    place(client& c, const std::string& kind)
        : name(soak_name(kind)),
          writers(soak_lock(c, kind)),
          readers(kind == "shared" ? &static_cast<shared_mutex&>(*writers).readers() : nullptr) {}

    std::string name;
    any_lock writers;
    detail::exclusive* readers;
};

class worker {
  public:
    worker(const std::vector<place>& places, const soak_plan& plan, unsigned seed)
        : places_(places), plan_(plan), random_(seed) {}

    void turn() {
        const place& at = places_[up_to(places_.size())];
        const bool reads = at.readers != nullptr && up_to(3) > 0;
        detail::exclusive& lock = reads ? *at.readers : *at.writers;
        // As a lease, or as a standard lock: this thread's.
        if (up_to(2) == 0) {
            const milliseconds wait{1 + up_to(300)};
            if (up_to(2) == 0) {
                if (!lock.try_lock_for(wait)) return;
            } else {
                lock.lock();
            }
            const bool twice = up_to(4) == 0;
            if (twice) lock.lock();
            count(at.name, reads, [&] { return lock.valid(); });
            if (twice) lock.unlock();
            lock.unlock();
        } else {
            const lease held = acquire(lock);
            if (held) count(at.name, reads, [&] { return held.valid(); });
        }
    }

  private:
    std::size_t up_to(std::size_t n) { return std::uniform_int_distribution<std::size_t>{0, n - 1}(random_); }

    lease acquire(detail::exclusive& lock) {
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
        if (reads) {
            const std::string after = counter_.read(name);
            if (before != after && valid())
                throw std::runtime_error{"a writer was inside beside a reader: " + before + " became " +
                                         after};
        } else if (valid()) {
            counter_.write(name, std::to_string(std::stoll(before) + 1));
        }
    }

    const std::vector<place>& places_;
    const soak_plan& plan_;
    counted counter_;
    std::mt19937 random_;
};

}  // namespace

any_lock soak_lock(client& c, const std::string& kind) {
    for (const auto& known : {fair_shared, fenced_shared, recursive_shared})
        if (kind == known.java) return known.make(c, soak_name(kind));
    return writing_shared.make(c, soak_name(kind));
}

int soak(const parent_link& parent, const soak_plan& plan) {
    const auto end = std::chrono::steady_clock::now() + plan.time;
    config c = settings(interop_server().url(), plan.lease);
    c.fair_liveness = plan.lease;
    client locks{c};
    std::vector<place> places;
    for (const auto& kind : plan.kinds) places.emplace_back(locks, kind);

    std::atomic<bool> wrong = false;
    std::vector<std::thread> threads;
    std::random_device seeds;
    for (int i = 0; i < plan.threads; ++i) {
        threads.emplace_back([&, seed = seeds()] {
            try {
                for (worker w{places, plan, seed}; std::chrono::steady_clock::now() < end && !wrong;)
                    w.turn();
            } catch (const std::exception& e) {
                wrong = true;
                parent.report(std::string{"wrong: "} + e.what());
            }
        });
    }
    for (auto& thread : threads) thread.join();
    if (!wrong) parent.report("done");
    return wrong ? 1 : 0;
}

}  // namespace holdfast::test
