// Inspecting and evicting locks: for operators and their tools. All of it is in the namespace
// holdfast::admin.
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/examination.hpp>
#include <holdfast/export.hpp>
#include <holdfast/group_mode.hpp>
#include <holdfast/kind.hpp>
#include <holdfast/lock_info.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::admin {

// Every call blocks for a few round trips, at most config::answer_timeout each, and throws holdfast::error.

// Returns the holders and the waiters of a lock. If the lock is free, lock_info::layout is "free".
[[nodiscard]] HOLDFAST_API lock_info inspect(client& on, const lock_name& name);

// Lists the locks whose names match a glob ('*', '?'), unordered and without queues. Does not block the
// server (it uses SCAN). Fair mutexes that are free and have dead_waiters are listed, too, as "free".
// Strings of other clients are left out: they have no form of their own, so locks among them cannot be told
// from data. listed::foreign_texts adds those that expire and look like an owner token.
[[nodiscard]] HOLDFAST_API std::vector<lock_info> list(client& on, const std::string& glob = "*",
                                                       listed which = listed::locks);

struct evict_options {
    // Take the lock only from these owners (holder_info::owner): those that inspect() showed and a person
    // approved. An owner that comes later keeps the lock. In a queue, likewise, only these dead waiters are
    // removed (waiter_info::owner). Empty: take it from all holders at the start.
    std::vector<std::string> owners{};
    // Also remove a string for which lock_info::may_be_data() is true. Otherwise errc::wrong_kind is thrown.
    bool force = false;
    // How long all holders together have to end their leases on request, 1 ms to 1 h. What they hold then is
    // removed. A command under `holdfast run` needs up to its grace.
    std::chrono::milliseconds wait{1000};
};

// A holder that was evicted.
struct evicted_holder {
    enum class way {
        gave_up,      // its client confirmed that it ended the lease on request
        silent,       // it received the request but neither confirmed nor released in time: removed
        unreachable,  // its client does not listen, or is not a holdfast client: removed without a request
    };
    holder_info who;
    way how = way::unreachable;
    // How long a removed holder may go on as if it held the lock: the time its lease had left when it was
    // removed. A holdfast client learns of the removal earlier, at its next renewal. Empty: the holder gave
    // up, or its lease has no end.
    std::optional<std::chrono::milliseconds> may_go_on;
};

struct eviction {
    std::vector<evicted_holder> from;  // empty: the lock was taken from nobody
    // Holders at the start that ended without this eviction: the client released the lock or let the lease
    // expire, or another operator removed the lock or evicted the holder. If the lock was removed, the holder
    // may go on until it learns of that.
    std::vector<holder_info> gone;
    // A holder that keeps the lock: it is not among evict_options::owners, or came after the start.
    std::optional<holder_info> other;
    // The number of all such holders, and of those that were too many to be listed at a time.
    std::uint64_t not_shown = 0;
    std::uint64_t dead_waiters = 0;  // removed from the queue of a fair mutex that is free
    std::uint64_t waiters_back = 0;  // looked dead, but came back within a second: still in the queue

    // The lock was taken from a holder, or dead waiters were removed.
    explicit operator bool() const noexcept { return !from.empty() || dead_waiters > 0; }
};

// Takes the lock from its holders and passes it to the next waiter. A holdfast client that listens (it has
// waited once, or has held a lock for 50 ms) is asked first: it ends the lease at once, confirms that, and
// releases the lock itself (with config::keep_evicted only when its work has stopped). All holders
// together have evict_options::wait for that; then the lock is removed. Until a removed holder learns of it,
// two clients may believe that they hold the lock. If a fair mutex is free, the dead waiters at the head of
// its queue are removed: those whose clients do not listen, and still do not a second later. Blocks longer
// than the other calls by at most evict_options::wait and two seconds. All permits of a semaphore that have
// an owner come back; a number without any owner is errc::wrong_kind.
HOLDFAST_API eviction evict(client& on, const lock_name& name, const evict_options& options = {});

struct examine_options {
    std::optional<lock_name> name;  // also check the user's rights to the keys and channels of this lock
    std::optional<holdfast::kind>
        kind;  // of that lock; if empty, the rights for a mutex count, and others are mentioned
};

// Reports what endangers locks on this client's servers, how to fix it, and which promise fails without that.
// Reports every check, including those that pass. Changes nothing on the server, but for a node that comes
// and goes in a ZooKeeper of a joint: URL (docs/doctor.md lists the requests). If a server refuses to answer,
// that is a finding; an error is thrown only for a server that cannot be asked at all.
[[nodiscard]] HOLDFAST_API examination examine(client& on, const examine_options& options = {});

// Returns the SQL statements that make the tables of the store that a URL names, with the rights of the URL's
// user. Empty: the store has no tables that an operator makes. Asks no server.
[[nodiscard]] HOLDFAST_API std::string schema(const std::string& url);

// What the arbiter of a joint: URL says now: which of its levels the group's locks need. Throws
// errc::invalid_argument for any other store.
[[nodiscard]] HOLDFAST_API group_mode mode(client& on);

struct switch_options {
    std::string by{};      // who wants it, for people; empty: the user of this process
    std::string reason{};  // and why
    // How long to wait until the level is reached. A change from one level to the next takes at least the
    // mode lease (docs/fallback.md).
    std::chrono::milliseconds wait{120'000};
    // Called with each mode on the way, in the thread of the caller.
    std::function<void(const group_mode&)> on_step{};
    // Change to a level that grants no locks now, too.
    bool force = false;
};

// Changes the mode of the group step by step, until its locks need this level and no other: its index, 0 for
// the preferred one. Locks stay held meanwhile, and their holders exclude each other throughout. Throws
// errc::timed_out if that takes longer than `wait`: the group stays in the mode that was reached, and each
// later call goes on from there. Another operator who changes the mode meanwhile is errc::lost. If the group
// changed its mode automatically, it does not any more. Before each step the level is tried, unless
// `force` is set. If it grants no locks, because it does not answer, is in quarantine or refuses, the call
// throws errc::unavailable with the reason: at once before the first step, and after `wait` between two. The
// levels that are left, or passed on the way, are not tried.
HOLDFAST_API group_mode switch_mode(client& on, std::size_t level, const switch_options& options = {});

// Changes the mode until the group's locks need two levels, the one in use and the next one (the one before
// if it is the last), and lets that mode stay: for planned work after which either of them may be the one to
// use. Then a change to one of them takes effect at once, not after a mode lease. Until then each lock needs
// both levels, and none is granted while one of them is down. If the group has two levels already, these
// stay. Both are tried first. Throws as switch_mode() does; if the group changed its mode automatically, it
// does not any more.
HOLDFAST_API group_mode use_two_levels(client& on, const switch_options& options = {});

// The way out when the arbiter of a joint: URL is lost for good: end all clients of the group, wait, and
// start them with a level (its index) pinned in their URL. Only people can do that; this says how. Asks no
// server. Throws errc::invalid_argument for any other URL, and for a level that it does not have.
[[nodiscard]] HOLDFAST_API pin_plan plan_pin(const config& settings, std::size_t level);

// From now on (`on`) the group changes its mode by itself, or not any more. Its clients try each level once a
// second; one of each host, of five hosts at most, reports what it sees to the arbiter. If most of those
// hosts cannot use the level in use for 3 s (down_for= in the URL), they change to the most preferred level
// that works; if a more preferred one works for all of them for 60 s (healthy_for=), back to that. Uses of
// switch_options: by, reason. Throws errc::lost if another operator has changed the mode meanwhile.
HOLDFAST_API group_mode set_automatic(client& on, bool is_on, const switch_options& options = {});

// Writes the document that clients with this config::switch_source, an "arbiter:URL", read within five
// seconds (docs/fallback.md has its form). Returns false if it is there already. Blocks for two answers of
// the arbiter, at most config::answer_timeout each. Throws errc::invalid_argument, with the field, for what
// clients would refuse, and for a serial that is not higher than the last one; errc::lost if another document
// is published at the same time; errc::unknown_outcome if it may have been written.
HOLDFAST_API bool publish_document(const config& settings, const std::string& document);

}  // namespace holdfast::admin
