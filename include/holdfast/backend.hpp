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
#include <holdfast/examination.hpp>
#include <holdfast/replication.hpp>
#include <holdfast/types.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace holdfast::base {
class parker;  // One thread waits in it, any thread ends the wait. See src/base/parker.hpp.
}  // namespace holdfast::base

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
    replication
        replicas{};  // they are asked whether they have the grant; `within` is what the store may wait
};

// The four answers. *Unknown never becomes no*: it may have been granted.
struct granted {
    fence token = fence::none;
    // An earlier send of this owner had won. The lease is whole all the same, and counts from this one.
    bool repeated = false;
    std::uint32_t acks =
        0;  // replicas that have it: may be fewer than were asked for, and is granted all the same
    // The store may keep it for this long from the answer, where that is more than the lease: it was handed
    // over before.
    milliseconds kept_for{0};
};
struct busy {
    std::string holder;                      // as the store writes it; may be empty
    std::optional<milliseconds> look_again;  // it cannot be free earlier unless a wake says so
    // A wake with this ticket grants the lock without another question, for `handed_lease` from the
    // moment this attempt was sent. Empty: a wake only means "try again".
    std::string ticket;
    milliseconds handed_lease{0};
};
struct refused : failure {  // nothing was changed
    // It can be otherwise in so long, and is worth waiting for. Empty: whoever asks again hears the same.
    std::optional<milliseconds> look_again{};

    [[nodiscard]] const failure& why() const noexcept { return *this; }
};
struct unknown : failure {};  // no answer: it may have been granted

using attempt_answer = std::variant<granted, busy, refused, unknown>;

// --- renew, release, watch -------------------------------------------------------------------

struct renew_request {
    lock_key key;
    owner_id owner;
    milliseconds lease;
    std::uint32_t holds =
        0;                   // for layouts that show how often the owner holds the lock; 0: leave it as it is
    replication replicas{};  // `unknown` if fewer have it
};
enum class renew_answer {
    renewed,  // the lease runs at least `lease` from the send
    lost,     // the owner does not hold it; nothing was changed
    unknown,  // no answer, or the store could not say
};

struct release_request {
    lock_key key;
    owner_id owner;
    bool undo = false;    // also leave the queue: the acquisition was given up
    bool evicts = false;  // in the name of a holder that an operator evicts: released::left is wanted
};
struct released {
    std::uint32_t listeners = 0;  // waiters elsewhere that were told to try
    bool handed_over = false;     // a waiter elsewhere holds it now; a newcomer will find it busy
    // Of release_request::evicts: what the lease had left at that moment. Empty: it had no end.
    std::optional<milliseconds> left{};
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
    raise_fence,   // of a fenced mutex that `owner` holds, to at least `amount`: 1, or 0 if it does
                   // not
    disown,        // the permits of `owner` will not come back by themselves: 1, or 0 if they had come back
};
struct adjust_request {
    lock_key key;
    adjustment what;
    std::int64_t amount = 0;
    owner_id operation;  // new for each; a repeated request with it changes nothing more
    owner_id owner;      // of the last three
};
struct adjusted {
    std::int64_t value = 0;
};
using adjust_answer = std::variant<adjusted, refused, unknown>;

// --- looking at locks ------------------------------------------------------------------------

// Whether a holder's client is connected to the store now.
enum class presence : std::uint8_t {
    unknown,  // the store would not tell, or it is a client of another make
    connected,
    gone,
};
struct holder_info {
    std::string owner;
    std::uint32_t holds = 1;  // how often it was locked, or how many permits it has
    bool writes = false;      // of a shared mutex: the writer, else a reader
    std::string host;         // empty when the store does not know
    std::int64_t pid = 0;
    std::optional<std::chrono::system_clock::time_point> since;  // when the holder asked for it, by its clock
    presence client = presence::unknown;
    std::string ask_at{};  // where store::ask_to_give_up finds the holder's client; empty: nowhere
    // A lease of several permits is known to its client by the id of the first one, which stands here. Empty:
    // by `owner`.
    std::string lease{};
};
struct waiter_info {
    std::string owner;
    std::string host;
    std::int64_t pid = 0;
    std::optional<milliseconds> waiting;
};
struct lock_info {
    lock_name name;
    // "mutex", "recursive_mutex", "foreign string", ...; "free" when nobody holds it; "no lock: ..." of a key
    // that the clients keep for themselves.
    std::string layout;
    bool ours = false;  // written by a holdfast client
    std::vector<holder_info> holders;
    std::optional<milliseconds> ttl;  // empty: no expiry
    std::vector<waiter_info> queue;
    std::optional<std::uint64_t> last_fence;
    std::optional<std::int64_t> count;  // permits that are free, or what a latch waits for
    std::uint64_t more_holders = 0;     // who were too many to be listed
    std::uint64_t more_waiting = 0;     // likewise
    std::uint64_t bytes = 0;            // the size of a foreign string
    // A fair mutex that is free may have this many dead owners at the head of its line. Clients of Redisson
    // wait for them for blocked_for yet (empty: for ever), ours for config::fair_liveness.
    std::uint64_t dead_waiters = 0;
    std::optional<milliseconds> blocked_for{};

    // A foreign string that does not expire or is longer than a lock's token: it may be somebody's data.
    [[nodiscard]] bool may_be_data() const { return layout == "foreign string" && (!ttl || bytes > 512); }
};

// Which keys `list` gives.
enum class listed {
    locks,          // those whose form says that they are locks
    foreign_texts,  // also strings that expire and hold what looks like a lock's token
};

// What a holder's client was asked, and how things stand.
struct asked {
    bool holds = false;           // the owner holds the lock still
    std::uint32_t listeners = 0;  // clients that got the message; 0 also if it may not be sent, or not yet
    std::optional<milliseconds> left;  // of the lease; empty: no expiry
    // The holder's client has said, now or before, that it has ended the lease because it was asked. Nothing
    // else says so: a lock may be gone for many reasons.
    bool gave_up = false;
};

// A holder in whose name an operator's client has released.
struct evicted {
    std::string owner;                   // empty: of a dead waiter
    std::optional<milliseconds> left{};  // see released::left
};

// What a server is to another store, of which it is a part.
struct membership {
    std::string of;  // "the redlock"
    // It keeps a key there, as a mutex of this name; where it may not the server has no vote.
    lock_name mark;
    // The locks that it has there. Who waits for one only asks again: it uses neither lines nor messages.
    std::vector<kind> kinds{};
    // It asks for the age of promotions; where it may not each client waits for so long after one.
    std::optional<milliseconds> grace{};
};

// What an examination is to look at, and what it is measured by.
struct examine_request {
    std::optional<lock_name>
        name;                // whose keys the user's rights are looked up for; empty: no lock in particular
    std::optional<kind> of;  // what the lock is; empty: a mutex matters, the others are mentioned
    milliseconds lease{0};   // that locks have here
    milliseconds drift{0};   // of two clocks within such a lease, that is allowed for
    std::optional<membership> part{};
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
    bool replicas = false;     // can say how many replicas have a grant
    // Each attempt is a vote of its own: it wants a new owner, and what was not granted is undone by the
    // store. There is no queue, and no messages.
    bool votes = false;
};

// Told by a store to whoever runs it; becomes an event (event.hpp).
struct notice {
    enum class change {
        link_up,  // connected, or connected again: renewals are due at once
        link_down,
        restarted,         // the server is another process than before; it may have lost its data
        failed_over,       // another server is the master now; it may lack what was granted last
        eviction_risk,     // the server drops keys when its memory is full
        no_channel_right,  // messages cannot be used; waiters poll
        evicted,      // `owner`, or a lease whose owner begins with `owner` and "*", is to give up what it
                      // holds: see store::ask_to_give_up
        quorum_weak,  // see event_kind
        quorum_whole,
        quorum_double,
        quorum_even,
    } what;
    std::string detail;
    owner_id owner{};
    // Of link_up: which run of which server it is, and for how long it says that it has run. Empty if it will
    // not say.
    std::string run_id{};
    std::chrono::seconds uptime{0};
    // Of link_up: names the promotion that made a master of what was a replica in this run, and each anew;
    // empty if it was none. Nobody can tell from it when that was.
    std::string promotion{};
    bool replica = false;  // of link_up: it takes no writes
    // Of link_down: what is to be mended, if anything is.
    std::error_code reason{};
    // Of evicted: tells the operator that the lease has ended. Only to be called when that is so, and before
    // the lock is released.
    std::function<void()> say_so{};
};

struct traffic {
    std::uint64_t requests = 0;              // sent since the store was opened
    std::chrono::nanoseconds round_trip{0};  // a recent average; 0 when there is none
};

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

    // Locks with the same number are in one place, and out of reach together.
    [[nodiscard]] virtual std::uint32_t place_of(const lock_key&) const { return 0; }

    // What the store's clients themselves keep under this name: no lock may have it. Empty: nothing.
    [[nodiscard]] virtual std::string_view kept_under(const lock_name&) const { return {}; }

    // `deadline`: after it nobody waits for the answer; the handler is still called, late or with unknown.
    virtual void attempt(const attempt_request&, time_point deadline, handler<attempt_answer>) = 0;
    // Answers stand in the order of the requests, and come together: so ask for what can fail alone alone.
    virtual void renew(std::span<const renew_request>, time_point deadline,
                       handler<std::vector<renew_answer>>) = 0;
    virtual void release(const release_request&, time_point deadline, handler<release_answer>) = 0;
    virtual void adjust(const adjust_request&, time_point deadline, handler<adjust_answer>) = 0;
    // Keep the handle until the release of `owner` was sent: messages for an owner that nobody
    // watches are taken as grants that nobody wants, and given back.
    [[nodiscard]] virtual std::unique_ptr<watch_handle> watch(const lock_key&, const owner_id&,
                                                              handler<watch_event>) = 0;

    virtual void inspect(const lock_name&, time_point deadline, handler<result<lock_info>>) = 0;
    // The same with many more holders, for an eviction: who holds a permit and who does not is decided once.
    virtual void inspect_all(const lock_name& name, time_point deadline, handler<result<lock_info>> done) {
        inspect(name, deadline, std::move(done));
    }
    // The whole text under the key of a mutex, as its owner wrote it; empty: there is none.
    virtual void read_owner(const lock_name&, time_point, handler<result<std::string>> done) {
        done(failure{make_error_code(errc::invalid_argument), "this store has no such texts"});
    }
    // Names of locks that match a glob ("*" and "?"), in pages, so that no server is held up.
    virtual void list(const std::string& glob, listed which, time_point deadline,
                      handler<result<std::vector<lock_info>>>) = 0;
    // Sends a message to the client of a holder that `inspect` has shown, if the holder holds the lock still.
    // The client ends the lease at once, says so (asked::gave_up), and releases the lock. To be repeated: the
    // acquisition may be under way, and this client may not be able to receive the answer yet.
    virtual void ask_to_give_up(const lock_name&, const holder_info&, time_point deadline,
                                handler<result<asked>>) = 0;
    // Takes the lock from those of `owners` (as `inspect` shows them) that hold it, and from nobody else.
    // Answers from whom it was taken.
    virtual void evict(const lock_name&, const std::vector<std::string>& owners, time_point deadline,
                       handler<result<std::vector<evicted>>>) = 0;
    // Where nobody holds a fair mutex: which owners at the head of its line are absent. Those of `absent`
    // that are so still are removed from the head, and the answer is then who they were.
    virtual void clear_line(const lock_name&, const std::vector<std::string>& absent, time_point,
                            handler<result<std::vector<std::string>>> done) {
        (void)absent;
        done(std::vector<std::string>{});
    }
    // A lease on this lock has been held for a while: messages that ask for it are to be heard from now on.
    // True: those for all other locks are too.
    virtual bool hear_requests_for(const lock_name&) { return true; }
    // What endangers locks on the store's servers. Changes nothing there. What a server does not let us see
    // is a finding; a failure means that there is no server to look at.
    virtual void examine(const examine_request&, time_point, handler<result<examination>> done) {
        done(examination{{},
                         {{"nothing-to-examine", severity::ok, std::string{has().name},
                           "this store has no server that could be examined", "", "", promise::none}}});
    }

    // For how long at least the server has been the master that `promotion` (see notice) made of it, as its
    // clients have seen it: the first who asks leaves a note there, and all count from that. Zero where there
    // is none.
    enum class note { left, looked_for };
    virtual void age_of_promotion([[maybe_unused]] const std::string& promotion, note, time_point,
                                  handler<result<milliseconds>> done) {
        done(failure{errc::unavailable, "nobody is promoted in this store"});
    }

    // Something that nobody waits for is on its way to a server: the client's destructor gives it
    // config::close_timeout.
    [[nodiscard]] virtual bool has_errands() const noexcept { return false; }

    // Lends the calling thread to the store's I/O until `me` is unparked or `until` has come. May return
    // earlier: the caller looks for itself.
    virtual void lend(base::parker& me, time_point until) = 0;

    // In a forked child: let go of everything without touching the parent's connections. The destructor
    // is not called afterwards.
    virtual void abandon() noexcept = 0;
};

}  // namespace holdfast::backend
