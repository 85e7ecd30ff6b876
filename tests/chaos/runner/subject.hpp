// The locks under test: those of holdfast, or those of the lab, to see that the judge finds their flaws.
#pragma once

#include "chaos/runner/locks.hpp"
#include "chaos/runner/precautions.hpp"

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

    // Whether its holder believes that it holds the lock.
    [[nodiscard]] virtual bool valid() const = 0;
    // When the lease ends without another renewal; 0: not known for this scheme.
    [[nodiscard]] virtual time_ns deadline() const { return 0; }
    [[nodiscard]] virtual std::uint64_t fence() const { return 0; }
    [[nodiscard]] virtual std::uint64_t token() const { return 0; }
    // Whether lost_token() has reported the end of the lease. Empty: this lock has no lost_token().
    [[nodiscard]] virtual std::optional<bool> loss_reported() const { return std::nullopt; }
    // ok; fail: it was over before; info: no answer.
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
    std::optional<std::chrono::milliseconds> ttl{};  // empty: the lease of the client, renewed
};

// One lock, used by all threads of a process.
class subject {
  public:
    subject() = default;
    subject(const subject&) = delete;
    subject& operator=(const subject&) = delete;
    virtual ~subject() = default;

    virtual answer acquire(const request& how) = 0;
    // Another hold for the owner of `outer`; only where the model is reentrant.
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

    // set, down, read, erase or wait. `amount` is for the first two, `wait` for the last.
    virtual outcome use(action what, std::int64_t amount, time_ns wait) = 0;
};

struct setting {
    std::string subject = "holdfast";
    std::string topology = "single";
    std::string url;
    std::uint32_t replicas = 0;  // that must confirm each grant
    std::string socket;          // of the server, for the lab
    std::chrono::milliseconds lease{600};
    // What the client asks sessions for, where leases end with a session; else `lease`.
    std::optional<std::chrono::milliseconds> session{};
    precautions care = precautions::taken;
    std::string who;  // unique among processes
};

// The locks of a process, in the order of locks_of(). Destroyed after all grants.
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
// Throws std::runtime_error if no subject has this name.
void check_subject(const std::string& name);
// Throws likewise.
[[nodiscard]] std::unique_ptr<subject_set> open_lab(const setting& how);

}  // namespace holdfast::chaos
