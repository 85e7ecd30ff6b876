// The members of one redlock: which are connected, which may vote, which are one server under two addresses,
// whether all clients mean the same members, and what is still to be released on them.
#pragma once

#include "backends/redlock/late_requests.hpp"
#include "backends/redlock/url.hpp"
#include "backends/services.hpp"
#include "base/annotations.hpp"
#include "engine/quarantine.hpp"
#include "engine/quorum.hpp"
#include "io/pollable.hpp"
#include "io/reactor.hpp"
#include "store/counters.hpp"
#include "store/inspection.hpp"
#include "store/redlock_member.hpp"
#include "store/store.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::redlock_backend {

using backend::time_point;

// Opens the store of one member.
using member_opener = std::unique_ptr<backend::store> (*)(const backends::services&);

// Thread-safe. Every callback of a member shares it; callbacks may run until close() has returned.
//   members.cpp         the stores: open and close, what they report, which of them are one server
//   votes.cpp           which members may vote, and whether they are a majority
//   status.cpp          the status as text for people, and as events
//   membership_key.cpp  what clients write on the members: the list of members, the age of promotions
//   cleanup.cpp         what is still to be released
class members : public std::enable_shared_from_this<members> {
  public:
    members(const backends::services& given, redlock_config wanted);

    // Call once, before all else. Throws holdfast::error if a member's URL cannot be used.
    void open(member_opener opener);
    // After it returns no callback of a member runs. Do not call it on the reactor thread.
    void close();
    // See backend::store::abandon.
    void abandon() noexcept;

    const redlock_config wanted;
    const config settings;
    const engine::clock_margin clock_margin;
    io::reactor& reactor;

    [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
    [[nodiscard]] backend::store& store(std::size_t i) noexcept { return *members_[i]->store; }
    // open() has made sure that members have these.
    [[nodiscard]] backend::counters& counters_of(std::size_t i) noexcept {
        return *members_[i]->store->as_counters();
    }
    [[nodiscard]] backend::inspection& inspection_of(std::size_t i) noexcept {
        return *members_[i]->store->as_inspection();
    }
    [[nodiscard]] backend::redlock_member& member_at(std::size_t i) noexcept {
        return *members_[i]->store->as_redlock_member();
    }
    [[nodiscard]] const std::string& address(std::size_t i) const { return wanted.members[i].address; }
    [[nodiscard]] const std::vector<io::pollable*>& connections() const noexcept { return connections_; }
    [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

    // See membership_key.cpp.
    [[nodiscard]] const lock_name& membership_key() const noexcept { return key_; }
    // What differs between two sets of members, as lists for people.
    struct difference {
        std::string only_here;
        std::string only_there;
    };
    // Compares our members with a membership key that was read; empty if they are the same.
    [[nodiscard]] std::optional<difference> difference_to(std::string_view written) const;

    // A caller is about to lock: writes the membership key on the members. Nothing is written before that.
    void begin_locking();
    // Whether a grant of this member is a vote now.
    [[nodiscard]] engine::quorum_attempt::counts counts(std::size_t i, time_point now);

    enum class quorum_state {
        enough,         // a majority may vote
        undecided,      // members that are not known yet may make a majority
        too_few,        // no majority, until something changes
        misconfigured,  // no majority until a person corrects the configuration
    };
    struct quorum_status {
        quorum_state what;
        backend::refused why{};      // set unless there are enough
        bool more_may_come = false;  // more may be able to vote in a moment
    };
    [[nodiscard]] quorum_status status(time_point now);
    struct uncounted_grants {
        std::string why;                    // the grants of these members do not count
        std::optional<time_point> over_at;  // `wanting` of them count from then on; empty: waiting is no help
    };
    // Why these grants are no votes, as of the moment when the members were asked.
    [[nodiscard]] uncounted_grants why_uncounted(engine::member_set granted, std::size_t wanting,
                                                 time_point asked);
    // For a client that does not lock: the status, if all connected members agree on the membership key.
    struct prediction {
        quorum_state what;
        std::error_code why{};               // set unless there are enough
        std::optional<milliseconds> left{};  // until quarantines end, if nothing else is in the way
        std::vector<std::pair<std::size_t, time_point>> waiting{};  // members in quarantine, until when
    };
    // By member: how long at least it has been the master, if that is known.
    using promotion_ages = std::vector<std::optional<milliseconds>>;
    [[nodiscard]] prediction predict(const promotion_ages& ages, time_point now) EXCLUDES(mutex_);
    // Asks for this age if it matters, and leaves no note. Empty: unknown.
    void look_at_promotion(std::size_t i, time_point deadline,
                           backend::handler<std::optional<milliseconds>> done) EXCLUDES(mutex_);
    // Called on the reactor thread when the status may have changed.
    std::function<void()> on_change;

    // The first member that leads to the same server as this one, as far as they are connected; itself, if
    // there is none.
    [[nodiscard]] std::size_t first_with_same_server(std::size_t i) EXCLUDES(mutex_);
    // "b:2 is the same server as a:1; ...", or nothing.
    [[nodiscard]] std::string same_servers() EXCLUDES(mutex_);
    // Which run of which server the member was connected to last: a name for distinct_servers.
    [[nodiscard]] std::string server_of(std::size_t i) EXCLUDES(mutex_);

    // Releases the owner token on one member without waiting; with `insist` again later, whatever the answer.
    void undo_grant(std::size_t i, const backend::lock_key&, const owner_id& token, milliseconds lease,
                    bool insist, unsigned attempt = 0);
    // Releases on one member. Requests that may arrive later are undone after `done`, too.
    void release_at(std::size_t i, const backend::release_request&, time_point deadline,
                    backend::handler<backend::release_answer> done);
    // Requests that a release has to undo again: see release_at.
    late_requests late;
    // A cleanup on a connected member is under way.
    [[nodiscard]] bool has_pending() const noexcept { return pending_.load(std::memory_order_acquire) > 0; }

  private:
    enum class key_state { unasked, asked, agreed, other, unreadable };
    struct member {
        member(const engine::quarantine_settings& rules, config c)
            : settings(std::move(c)), quarantine(rules) {}

        const config settings;  // before the store, which refers to it
        engine::quarantine quarantine;
        bool known = false;  // it was reached once, or could not be
        bool up = false;
        bool replica = false;
        std::string why_down;
        std::error_code error_to_fix;  // the reason why it is down, if a person must fix it
        key_state key = key_state::unasked;
        bool key_is_new = false;  // we made it, and not all have agreed yet
        std::string key_text;
        std::error_code key_error;  // why it is unreadable
        unsigned epoch = 0;         // of its connection: answers of earlier ones are ignored
        std::unique_ptr<backend::store> store;
    };
    enum class health { unknown, whole, good, weak, gone };

    void on_notice(std::size_t i, const backend::notice& n);
    void review();
    void report_same_servers();
    // Whether a member can vote.
    struct vote_status {
        enum class what { votes, undecided, quarantined, absent, misconfigured } is;  // the best first
        bool promising = false;          // undecided, and nothing speaks against it
        time_point until{};              // the end of its quarantine
        std::error_code error_to_fix{};  // of a misconfigured member
    };
    enum class key_view { known, assumed_agreed };
    [[nodiscard]] vote_status vote_status_of(const member& m, const engine::quarantine& quarantine,
                                             key_view how, time_point now) const REQUIRES(mutex_);
    // `status_of` maps the number of a member to its vote_status.
    template <class StatusOf>
    [[nodiscard]] quorum_status weigh(time_point now, StatusOf status_of) const REQUIRES(mutex_);
    [[nodiscard]] bool may_vote(const member& m, time_point now) const REQUIRES(mutex_);
    [[nodiscard]] bool connected(const member& m) const REQUIRES(mutex_);
    [[nodiscard]] bool would_vote(const member& m, time_point now) const REQUIRES(mutex_);
    [[nodiscard]] bool to_be_asked(const member& m) const REQUIRES(mutex_);
    [[nodiscard]] std::error_code error_to_fix(const member& m) const REQUIRES(mutex_);
    [[nodiscard]] std::size_t first_of_server(std::size_t i) const REQUIRES(mutex_);
    [[nodiscard]] std::string same_server_text(std::size_t i) const REQUIRES(mutex_);
    [[nodiscard]] std::string misuse() const REQUIRES(mutex_);
    [[nodiscard]] std::string missing(engine::member_set which, time_point now) const REQUIRES(mutex_);
    [[nodiscard]] std::string state_of(std::size_t i, time_point now) const REQUIRES(mutex_);
    [[nodiscard]] std::string too_few(std::size_t able, time_point now) const REQUIRES(mutex_);
    void later(milliseconds pause, void (members::*what)());

    // Reactor thread.
    void agree();
    void ask_since(std::size_t i, unsigned epoch);
    void on_since(std::size_t i, unsigned epoch, const backend::result<milliseconds>& age);
    void write_key(std::size_t i, unsigned epoch);
    void on_key(std::size_t i, unsigned epoch, const backend::attempt_answer& answer);
    void take_back_keys() EXCLUDES(mutex_);
    void renew_keys();
    template <class Answer>
    [[nodiscard]] backend::handler<Answer> on_reactor(std::size_t i, unsigned epoch,
                                                      void (members::*then)(std::size_t, unsigned,
                                                                            const Answer&));
    [[nodiscard]] bool is_present(std::size_t i, unsigned epoch) EXCLUDES(mutex_);
    [[nodiscard]] static owner_id key_text_of(const redlock_config& wanted);
    [[nodiscard]] std::string how_it_differs(std::string_view written) const;

    [[nodiscard]] bool begin_cleanup(std::size_t i) EXCLUDES(mutex_);

    const base::client_id id_;
    const std::function<void(const backend::notice&)> notify_;
    const lock_name key_;
    const owner_id key_text_;  // the text of the membership key: our members
    std::vector<io::pollable*> connections_;
    std::atomic<bool> closed_{false};
    std::atomic<bool> wanted_{false};
    std::atomic<std::size_t> pending_{0};

    base::mutex mutex_;
    // The vector and the stores do not change between open() and close(); what else a member has is guarded.
    std::vector<std::unique_ptr<member>> members_;
    std::string wrong_ GUARDED_BY(mutex_);  // misuse() at the last notice of a member
    std::optional<time_point> wanted_since_ GUARDED_BY(mutex_);

    // Reactor thread only.
    health reported_ = health::unknown;
    engine::member_set reported_missing_;
    engine::member_set reported_same_servers_;
    time_point review_at_{};
};

}  // namespace holdfast::redlock_backend
