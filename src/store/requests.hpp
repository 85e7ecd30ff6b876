// Requests to a store about a lock, and their answers.
#pragma once

#include "store/bound.hpp"

#include <holdfast/callback.hpp>
#include <holdfast/error.hpp>
#include <holdfast/kind.hpp>
#include <holdfast/replication.hpp>
#include <holdfast/types.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <variant>

namespace holdfast::backend {

using holdfast::kind;
using time_point = boot_clock::time_point;
using std::chrono::milliseconds;

inline constexpr auto kinds = static_cast<std::size_t>(kind::latch) + 1;  // number of kinds

// The kind and the name together identify the lock; two kinds with one name are a mistake that stores detect.
struct lock_key {
    kind of = kind::native;
    lock_name name;

    friend bool operator==(const lock_key&, const lock_key&) = default;
    friend auto operator<=>(const lock_key&, const lock_key&) = default;
};

// Why a store did not carry out a request. Programs use `code`; the texts are for people. The server's text
// is kept apart from ours.
//
// The client takes errc::unavailable and errc::busy_server for an outage and repeats the attempt. Any other
// code ends an attempt, unless the caller already waits and the code is of condition::try_later. A release is
// repeated, except after condition::misuse.
struct failure {
    std::error_code code;
    std::string text{};         // ours, a clause without a full stop; empty where the code says it all
    std::string server_text{};  // the server's, as it sent it; empty if no server answered
    bool contention = false;    // other clients were in the way: the store itself is well

    // All of it in one line, for callers that cannot keep the two apart.
    [[nodiscard]] std::string in_one() const {
        if (text.empty() && server_text.empty()) return code.message();
        if (text.empty() || server_text.empty()) return text + server_text;
        return text + "; the server says: " + server_text;
    }
};

template <class T>
using result = std::variant<T, failure>;

template <class T>
using handler = callback<void(T)>;

// --- attempt ---------------------------------------------------------------------------------

enum class intent {
    look,   // take the lock if it is free; leave no trace if it is not
    queue,  // the same, and join the store's queue if it has one; not asked of a store without messages
};

struct attempt_request {
    lock_key key;
    owner_id owner;  // new for each acquisition; a repeated attempt with it changes nothing more
    milliseconds lease;
    intent want = intent::look;
    std::uint32_t permits = 1;            // of a semaphore; 1 for all other kinds
    std::optional<std::int64_t> total{};  // initial number of permits of a semaphore whose number is not set
    // The writer of a shared mutex that wants to read as well; empty: none.
    owner_id downgrading_from{};
    // How many replicas to ask for a confirmation of the grant, and how long the store may wait for them.
    replication replicas{};
    // A weaker grant is refused: errc::too_weak. Never more than capabilities::guarantee.
    strength at_least = strength::process_local;
    bool waits = false;  // the caller goes on asking if it is refused because of an outage
};

// The four answers. *Unknown never becomes no*: the lock may have been granted.
struct granted {
    // The lease that the store gave, counted from the send. A store may give less than was asked for; more
    // counts for nothing.
    milliseconds lease;
    holdfast::fence fence = holdfast::fence::none;
    // An earlier send of this owner had been granted. The lease still counts from this send. For statistics.
    bool repeated = false;
    // Replicas that have the grant: may be fewer than were asked for, and the lock is still granted.
    std::uint32_t acks = 0;
    // The store may keep the lock for this long from the answer, if that is more than the lease, because the
    // lock was handed over before.
    milliseconds kept_for{0};
    // The lease ends with this bound at the latest. Empty: only its own deadline counts.
    std::shared_ptr<const backend::bound> bound{};
    // What this grant stands for, if that is less than capabilities::guarantee.
    std::optional<strength> weaker{};
};
struct busy {
    std::string holder;  // as the store writes it; may be empty
    // The lock cannot be free earlier unless a message says so. Empty where no message does.
    std::optional<milliseconds> look_again;
    // A message with this ticket grants the lock without another request, for `handed_lease` from the moment
    // this attempt was sent. Empty: a message only means "try again", as always where leases have a bound.
    std::string ticket;
    milliseconds handed_lease{0};
    bool no_memory = false;  // nobody may hold it: the store has no memory for a new grant or waiter
};
struct refused : failure {  // nothing was changed
    // The answer may change after this time, so it is worth waiting. Empty: a repeated request gets the same
    // answer.
    std::optional<milliseconds> look_again{};

    [[nodiscard]] const failure& why() const noexcept { return *this; }
};
struct unknown : failure {};  // no answer: the request may have been carried out

using attempt_answer = std::variant<granted, busy, refused, unknown>;

// --- renew, release, watch -------------------------------------------------------------------

struct renew_request {
    lock_key key;
    owner_id owner;
    milliseconds lease;
    // How many holds the owner has on the lock, for stores that show it to other clients; 0: leave it as it
    // is.
    std::uint32_t holds = 0;
    replication replicas{};  // `unknown` if fewer replicas have it
};
struct renewed {
    milliseconds lease;  // what the store gave, counted from the send; more than asked for counts for nothing
};
struct not_held {};  // the owner did not hold it; no lock of another owner changed
// `refused`: some requests that were refused together may have been renewed, but none is renewed later. If
// one of several servers refuses and the others do not answer, the answer is `unknown` with the text of that
// server.
using renew_answer = std::variant<renewed, not_held, refused, unknown>;

struct release_request {
    lock_key key;
    owner_id owner;
    bool undo = false;    // also leave the queue: the acquisition was given up
    bool evicts = false;  // an operator evicts the holder and wants released::left
};
struct released {
    std::uint32_t listeners = 0;  // waiters in other processes that received a message to try
    bool handed_over = false;     // a waiter in another process holds it now; a new attempt will find it busy
    // With release_request::evicts: what was left of the lease at that moment. Empty: it had no end.
    std::optional<milliseconds> left{};
};
using release_answer = std::variant<released, not_held, refused, unknown>;

// A message for a waiter.
struct wake {
    std::string ticket;  // see busy::ticket; empty means "try again"
};

// What a watch reports to its owner.
struct watch_event {
    enum class change {
        watching,  // messages are received from now on; attempt again before waiting
        woken,     // see `message`
        broken,    // messages may have been lost; attempt again
        refused,   // no permission to listen; poll instead
    } what;
    wake message;
};

}  // namespace holdfast::backend
