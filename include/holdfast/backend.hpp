// The seam: what a store must be able to do so that every kind of lock can stand on it.
// Users of locks need nothing from here; authors of stores need nothing else.
//
// Every verb returns at once and calls its handler exactly once, on any thread, perhaps before the
// verb has returned. Handlers are short and never block. A blocking caller lends its thread to the
// store's I/O through `lend` and so reads its own answer: a verb that is called on any other thread
// than the client's own must be followed by `lend` on that thread.
#pragma once

#include <holdfast/callback.hpp>
#include <holdfast/error.hpp>
#include <holdfast/types.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace holdfast::backend {

using time_point = boot_clock::time_point;
using std::chrono::milliseconds;

// Which scheme of keys a lock uses. A kind is a row in each store's table, not a class.
enum class kind {
    native,            // mutex
    native_fenced,     // mutex built with .fenced = true: native, and a fence on every grant
    recursive,         // recursive_mutex
    recursive_fenced,  // fenced_mutex: recursive, and a fence on every grant
    fair,              // fair_mutex: recursive, and the store keeps the line of those who wait
    shared_read,       // shared_mutex, one of many readers
    shared_write,      // shared_mutex, the writer
    semaphore,         // counting_semaphore: permits that are owned and come back
    permit_semaphore,  // permit_semaphore: the same in Redisson's form, where each permit has an id
    latch,             // latch: nobody owns anything; it is granted to all when its count is zero
};
inline constexpr std::size_t kinds = 10;

// The kind and the name together are the lock; two kinds on one name are a mistake that stores detect.
struct lock_key {
    kind of = kind::native;
    lock_name name;

    friend bool operator==(const lock_key&, const lock_key&) = default;
    friend auto operator<=>(const lock_key&, const lock_key&) = default;
};

// Why a store did not do it. `code` decides, `text` is the server's own words.
struct failure {
    std::error_code code;
    std::string text;
};

// --- attempt ---------------------------------------------------------------------------------

enum class intent {
    look,   // take the lock if it is free; leave no trace if it is not
    queue,  // the same, and stand in the store's queue if it has one
};

struct attempt_request {
    lock_key key;
    owner_id owner;  // new for each acquisition; a repeated attempt with it changes nothing more
    milliseconds lease;
    intent want = intent::look;
    std::uint32_t permits = 1;            // how many of a semaphore; 1 for all other kinds
    std::optional<std::int64_t> total{};  // a semaphore whose number nobody has set gets so many first
    owner_id beside{};  // of a shared mutex: the writer who wants to read as well; empty: nobody
};

// The four answers. *Unknown never becomes no*: it may have been granted.
struct granted {
    fence token = fence::none;
    // An earlier send of this owner won and this one did not lengthen the lease: count from the first.
    bool from_first_send = false;
};
struct busy {
    std::string holder;                      // as the store writes it; may be empty
    std::optional<milliseconds> look_again;  // it cannot be free earlier unless a wake says so
    // A wake with this ticket grants the lock without another question, for `handed_lease` from the
    // moment this attempt was sent. Empty: a wake only means "try again".
    std::string ticket;
    milliseconds handed_lease{0};
};
struct refused : failure {};  // nothing was changed
struct unknown : failure {};  // no answer: it may have been granted

using attempt_answer = std::variant<granted, busy, refused, unknown>;

// --- renew, release, watch -------------------------------------------------------------------

struct renew_request {
    lock_key key;
    owner_id owner;
    milliseconds lease;
    std::uint32_t holds =
        0;  // for layouts that show how often the owner holds the lock; 0: leave it as it is
};
enum class renew_answer {
    renewed,  // the lease runs at least `lease` from the send
    lost,     // the owner does not hold it; nothing was changed
    unknown,  // no answer, or the store could not say
};

struct release_request {
    lock_key key;
    owner_id owner;
    bool undo = false;  // also leave the queue: the acquisition was given up
};
struct released {
    std::uint32_t listeners = 0;  // waiters elsewhere that were told to try
    bool handed_over = false;     // a waiter elsewhere holds it now; a newcomer will find it busy
};
struct not_held {};  // the owner did not hold it; nothing of anybody else was touched
using release_answer = std::variant<released, not_held, refused, unknown>;

// A message for a waiter.
struct wake {
    std::string ticket;  // see busy::ticket; empty means "try again"
};

// What a watch tells its owner.
struct watch_event {
    enum class change {
        watching,  // messages from now on are seen; attempt again before waiting
        woken,     // see `message`
        broken,    // messages may have been lost; attempt again
        refused,   // no right to listen; poll instead
    } what;
    wake message;
};

// Keeps a subscription alive; destroying it ends it. No handler call starts afterwards, but one that
// runs on another thread may end later.
class watch_handle {
  public:
    watch_handle() = default;
    watch_handle(const watch_handle&) = delete;
    watch_handle& operator=(const watch_handle&) = delete;
    virtual ~watch_handle() = default;
};

// --- the counter of a semaphore or a latch -------------------------------------------------------

enum class adjustment {
    set_if_unset,  // to `amount`, if there is no counter: 1, else 0
    add,           // `amount`, which may be negative: what is left, which may be too
    drain,         // takes all there is: how much that was
    read,          // what there is; 0 if there is no counter
    count_down,    // of a latch, by `amount`: what is left
    erase,         // the counter: 1, or 0 if there was none
    give_back,     // the permits of `owner`: 0 or more, or -1 if they had come back before
    disown,        // the permits of `owner` will not come back by themselves: 1, or 0 if they had come back
};
struct adjust_request {
    lock_key key;
    adjustment what;
    std::int64_t amount = 0;
    owner_id operation;  // new for each; a repeated request with it changes nothing more
    owner_id owner;      // of the last two
};
struct adjusted {
    std::int64_t value = 0;
};
using adjust_answer = std::variant<adjusted, refused, unknown>;

// --- looking at locks ------------------------------------------------------------------------

struct holder_info {
    std::string owner;
    std::uint32_t holds = 1;  // how often it was locked, or how many permits it has
    bool writes = false;      // of a shared mutex: the writer, else a reader
    std::string host;         // empty when the store does not know
    std::int64_t pid = 0;
    std::optional<std::chrono::system_clock::time_point> since;  // when the holder asked for it, by its clock
    bool connected = false;                                      // its client is connected to this store now
};
struct waiter_info {
    std::string owner;
    std::string host;
    std::int64_t pid = 0;
    std::optional<milliseconds> waiting;
};
struct lock_info {
    lock_name name;
    std::string layout;  // "mutex", "recursive_mutex", "foreign string", ...; "free" when nobody holds it
    bool ours = false;   // written by a holdfast client
    std::vector<holder_info> holders;
    std::optional<milliseconds> ttl;  // empty: no expiry
    std::vector<waiter_info> queue;
    std::optional<std::uint64_t> last_fence;
    std::optional<std::int64_t> count;  // permits that are free, or what a latch waits for
    std::uint64_t more_holders = 0;     // who were too many to be listed
    std::uint64_t more_waiting = 0;     // likewise
};

template <class T>
using result = std::variant<T, failure>;

template <class T>
using handler = callback<void(T)>;

// What a store has, told once.
struct capabilities {
    std::string_view name;  // "redis", "local"
    strength gives = strength::single;
    bool hands_over = false;   // a release passes the lock to the head of a queue
    bool survives_us = false;  // a lock outlives the process that held it
};

// Told by a store to whoever runs it; becomes an event (event.hpp).
struct notice {
    enum class change {
        link_up,  // connected, or connected again: renewals are due at once
        link_down,
        restarted,         // the server is another process than before; it may have lost its data
        eviction_risk,     // the server drops keys when its memory is full
        no_channel_right,  // messages cannot be used; waiters poll
        evicted,           // `owner` was evicted by an operator
    } what;
    std::string detail;
    owner_id owner;
};

struct traffic {
    std::uint64_t requests = 0;              // sent since the store was opened
    std::chrono::nanoseconds round_trip{0};  // a recent average; 0 when there is none
};

// One thread waits in a parker; anyone may end the wait. See src/io/parker.hpp.
class parker;

class store {
  public:
    store() = default;
    store(const store&) = delete;
    store& operator=(const store&) = delete;
    virtual ~store() = default;

    [[nodiscard]] virtual const capabilities& has() const noexcept = 0;
    [[nodiscard]] virtual traffic seen() const noexcept = 0;
    // The text of a new owner for this kind, who will ask for so many permits: unique for ever, and never
    // used before.
    [[nodiscard]] virtual owner_id new_owner(kind, std::uint32_t permits) = 0;

    // `deadline`: after it nobody waits for the answer; the handler is still called, late or with unknown.
    virtual void attempt(const attempt_request&, time_point deadline, handler<attempt_answer>) = 0;
    // Answers stand in the order of the requests.
    virtual void renew(std::span<const renew_request>, time_point deadline,
                       handler<std::vector<renew_answer>>) = 0;
    virtual void release(const release_request&, time_point deadline, handler<release_answer>) = 0;
    virtual void adjust(const adjust_request&, time_point deadline, handler<adjust_answer>) = 0;
    // Keep the handle until the release of `owner` was sent: messages for an owner that nobody
    // watches are taken as grants that nobody wants, and given back.
    [[nodiscard]] virtual std::unique_ptr<watch_handle> watch(const lock_key&, const owner_id&,
                                                              handler<watch_event>) = 0;

    virtual void inspect(const lock_name&, time_point deadline, handler<result<lock_info>>) = 0;
    // Names of locks that match a glob ("*" and "?"), in pages, so that no server is held up.
    virtual void list(const std::string& glob, time_point deadline,
                      handler<result<std::vector<lock_info>>>) = 0;
    // Takes the lock from whoever holds it, and tells them where it can: true if somebody did.
    virtual void evict(const lock_name&, time_point deadline, handler<result<bool>>) = 0;

    // Lends the calling thread to the store's I/O until `me` is unparked or `until` has come. May return
    // earlier: the caller looks for itself.
    virtual void lend(parker& me, time_point until) = 0;

    // In a forked child: let go of everything without touching the parent's connections. The destructor
    // is not called afterwards.
    virtual void abandon() noexcept = 0;
};

}  // namespace holdfast::backend
