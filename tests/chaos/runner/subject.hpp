// What is judged: locks of holdfast, or, to see that they are found out, those of the lab.
#pragma once

#include "chaos/runner/locks.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::chaos {

// A lock that is held. Used by one thread.
class grant {
  public:
    grant() = default;
    grant(const grant&) = delete;
    grant& operator=(const grant&) = delete;
    virtual ~grant() = default;

    // Does its holder believe to have it?
    [[nodiscard]] virtual bool valid() const = 0;
    // Until when, if nothing more is heard; 0: no scheme of this kind could tell.
    [[nodiscard]] virtual time_ns deadline() const { return 0; }
    [[nodiscard]] virtual std::uint64_t fence() const { return 0; }
    [[nodiscard]] virtual std::uint64_t token() const { return 0; }
    // A lease that is over says so through lost(): whether it has. Empty: this one has no such thing.
    [[nodiscard]] virtual std::optional<bool> loss_reported() const { return std::nullopt; }
    // ok, fail: it was over before, info: no answer.
    virtual phase release() = 0;
};

struct answer {
    phase what = phase::fail;     // ok, busy or fail
    std::unique_ptr<grant> held;  // with ok
    int error = 0;                // with fail
};

struct request {
    time_ns wait = never;
    chaos::side side = side::only;
    std::uint32_t permits = 1;
    std::optional<std::chrono::milliseconds> ttl{};  // empty: as the client has it, renewed
};

// One lock, used by all threads of a process.
class subject {
  public:
    subject() = default;
    subject(const subject&) = delete;
    subject& operator=(const subject&) = delete;
    virtual ~subject() = default;

    virtual answer acquire(const request& how) = 0;
    // Another hold for who has `outer`; only where the model is reentrant.
    virtual answer nest(grant& outer) = 0;
};

// One latch, used by all threads of a process.
class countdown {
  public:
    struct outcome {
        phase what = phase::fail;  // ok, busy, fail or info
        std::int64_t count = 0;    // what is left, after down and read
        int error = 0;             // with fail and info
    };

    countdown() = default;
    countdown(const countdown&) = delete;
    countdown& operator=(const countdown&) = delete;
    virtual ~countdown() = default;

    // set, down, read, erase or wait; `amount` is of the first two, `wait` of the last.
    virtual outcome use(action what, std::int64_t amount, time_ns wait) = 0;
};

struct setting {
    std::string subject = "holdfast";
    std::string topology = "single";
    std::string url;
    std::uint32_t replicas = 0;  // that must have each grant
    std::string socket;          // of the server, for the lab
    std::chrono::milliseconds lease{600};
    std::string who;  // unique among processes
};

// What a process has to do with its locks: in the order of locks_of(), each by what it is. Destroyed after
// all grants.
class subject_set {
  public:
    subject_set() = default;
    subject_set(const subject_set&) = delete;
    subject_set& operator=(const subject_set&) = delete;
    virtual ~subject_set() = default;
    [[nodiscard]] virtual subject& at(std::size_t lock) = 0;
    [[nodiscard]] virtual countdown& latch_at(std::size_t lock) = 0;
};

[[nodiscard]] std::unique_ptr<subject_set> open_holdfast(const setting& how);
// Throws std::runtime_error if there is nothing of that name to run.
void check_subject(const std::string& name);
// The same.
[[nodiscard]] std::unique_ptr<subject_set> open_lab(const setting& how);

}  // namespace holdfast::chaos
