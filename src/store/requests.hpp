// What a store is asked about a lock, and what it answers.
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

inline constexpr auto kinds = static_cast<std::size_t>(kind::latch) + 1;  // how many there are

// The kind and the name together are the lock; two kinds on one name are a mistake that stores detect.
struct lock_key {
    kind of = kind::native;
    lock_name name;

    friend bool operator==(const lock_key&, const lock_key&) = default;
    friend auto operator<=>(const lock_key&, const lock_key&) = default;
};

// Why a store did not do it. `code` decides; the words are for people, those of others kept apart.
struct failure {
    std::error_code code;
    std::string text{};         // our own; empty where the code says it all
    std::string server_text{};  // a server's, as it sent them; empty where none spoke

    // All of it in one line, for where the two cannot be kept apart.
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
    queue,  // the same, and join the store's queue if it has one
};

struct attempt_request {
    lock_key key;
    owner_id owner;  // new for each acquisition; a repeated attempt with it changes nothing more
    milliseconds lease;
    intent want = intent::look;
    std::uint32_t permits = 1;            // of a semaphore; 1 for all other kinds
    std::optional<std::int64_t> total{};  // a semaphore whose number nobody has set gets this many first
    // The writer of a shared mutex that wants to read as well; empty: there is none.
    owner_id downgrading_from{};
    // How many replicas are asked whether they have the grant, and for how long the store may wait for them.
    replication replicas{};
};

// The four answers. *Unknown never becomes no*: the lock may have been granted.
struct granted {
    // What the store gave, from the send on: a store may give less than was asked for. More counts for
    // nothing.
    milliseconds lease;
    holdfast::fence fence = holdfast::fence::none;
    // An earlier send of this owner had won. The lease counts from this one all the same.
    bool repeated = false;
    // Replicas that have the grant: may be fewer than were asked for, and is granted all the same.
    std::uint32_t acks = 0;
    // The store may keep the lock for this long from the answer, where that is more than the lease, because
    // it was handed over before.
    milliseconds kept_for{0};
    // The lease ends with this, whatever its own deadline is. Empty: only its deadline counts.
    std::shared_ptr<const backend::bound> bound{};
};
struct busy {
    std::string holder;                      // as the store writes it; may be empty
    std::optional<milliseconds> look_again;  // it cannot be free earlier unless a message says so
    // A message with this ticket grants the lock without another question, for `handed_lease` from the moment
    // this attempt was sent. Empty: a message only means "try again", as always where leases have a bound.
    std::string ticket;
    milliseconds handed_lease{0};
};
struct refused : failure {  // nothing was changed
    // The answer may be different after this time, which is worth waiting for. Empty: a repeated request gets
    // the same answer.
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
    // How often the owner holds the lock, for stores that show it; 0: leave it as it is.
    std::uint32_t holds = 0;
    replication replicas{};  // `unknown` if fewer have it
};
struct renewed {
    milliseconds lease;  // what the store gave, from the send on; more than was asked for counts for nothing
};
struct not_held {};  // the owner did not hold it; nothing of anybody else was touched
// Of those that were refused together some may have been renewed, but none is renewed later. Of several
// servers one may refuse and the others be silent, which is `unknown` with the words of that one.
using renew_answer = std::variant<renewed, not_held, refused, unknown>;

struct release_request {
    lock_key key;
    owner_id owner;
    bool undo = false;    // also leave the queue: the acquisition was given up
    bool evicts = false;  // an operator evicts the holder: released::left is wanted
};
struct released {
    std::uint32_t listeners = 0;  // waiters elsewhere that got a message to try
    bool handed_over = false;     // a waiter elsewhere holds it now; a newcomer will find it busy
    // With release_request::evicts: what the lease had left at that moment. Empty: it had no end.
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
        watching,  // messages from now on are received; attempt again before waiting
        woken,     // see `message`
        broken,    // messages may have been lost; attempt again
        refused,   // no right to listen; poll instead
    } what;
    wake message;
};

}  // namespace holdfast::backend
