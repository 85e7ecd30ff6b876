// The members of one redlock: which are there, which may vote, which are one server under two addresses,
// whether all clients mean the same ones, and what is still to be taken back from them.
#pragma once

#include "backends/quorum/url.hpp"
#include "backends/services.hpp"
#include "base/annotations.hpp"
#include "engine/quorum.hpp"
#include "engine/standing.hpp"
#include "io/drivable.hpp"
#include "io/reactor.hpp"

#include <holdfast/backend.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::quorum_backend {

using backend::time_point;

// The servers that have answered a question, each with a number below most_members: two members may be one
// server, whose answers count once.
class roll {
  public:
    std::size_t number_of(std::string server) {
        const auto known = std::find(servers_.begin(), servers_.end(), server);
        if (known != servers_.end()) return static_cast<std::size_t>(known - servers_.begin());
        servers_.push_back(std::move(server));
        return servers_.size() - 1;
    }
    // False: it has answered before.
    bool enter(std::string server) {
        const auto so_far = servers_.size();
        return number_of(std::move(server)) == so_far;
    }

  private:
    std::vector<std::string> servers_;
};

// Opens the store of one member.
using member_opener = std::unique_ptr<backend::store> (*)(const backends::services&);

// Thread-safe. Shared with every callback of a member, which may come until close() has returned.
//   council.cpp     what members say, and who may vote
//   agreement.cpp   what clients keep on the members: which ones there are, and since when each is a master
//   debts.cpp       what is to be taken back
class council : public std::enable_shared_from_this<council> {
  public:
    council(const backends::services& given, quorum_config wanted);

    // Once, before all else. Throws what a member's URL deserves.
    void open(member_opener opener);
    // When it returns no callback of a member runs and none will. Not on the reactor thread.
    void close();
    // See backend::store::abandon.
    void abandon() noexcept;

    const quorum_config wanted;
    const config settings;
    const engine::validity trust;
    io::reactor& reactor;

    [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
    [[nodiscard]] backend::store& store(std::size_t i) noexcept { return *members_[i]->store; }
    [[nodiscard]] const std::string& address(std::size_t i) const { return wanted.members[i].address; }
    [[nodiscard]] const std::vector<io::drivable*>& connections() const noexcept { return connections_; }
    [[nodiscard]] bool closed() const noexcept { return closed_.load(std::memory_order_acquire); }

    // See agreement.cpp.
    [[nodiscard]] const lock_name& mark_key() const noexcept { return mark_; }
    // Of two sets of members, as lists for people.
    struct difference {
        std::string only_here;
        std::string only_there;
    };
    // To what somebody has written as a mark; empty: that is ours.
    [[nodiscard]] std::optional<difference> difference_to(std::string_view written) const;

    // Somebody is about to lock: the members are told whom we mean. Nothing is written on them before.
    void want();
    // Its grant of this moment is a vote.
    [[nodiscard]] engine::ballot::counts counts(std::size_t i, time_point now);

    enum class prospects {
        good,    // enough members may vote
        soon,    // some have not said yet whether they are there
        poor,    // too few, until something changes
        misuse,  // the configuration is wrong
    };
    struct outlook {
        prospects what;
        backend::refused why{};    // unless they are good
        bool others_come = false;  // more may be able to vote in a moment
    };
    [[nodiscard]] outlook look(time_point now);
    struct doubts {
        std::string why;                    // the grants of these members do not count
        std::optional<time_point> over_at;  // `wanting` of them count from then on; empty: waiting is no help
    };
    // Of members that have granted, judged as of the moment when they were asked.
    [[nodiscard]] doubts about(engine::member_set granted, std::size_t wanting, time_point asked);
    // For who only looks: how it would be if all members that are there agreed who they are.
    struct forecast {
        prospects what;
        std::error_code why{};                                      // unless they are good
        std::optional<milliseconds> left{};                         // it is only quarantines: until they end
        std::vector<std::pair<std::size_t, time_point>> waiting{};  // members in quarantine, until when
    };
    // By member: for how long at least it has been the master, if somebody told.
    using ages = std::vector<std::optional<milliseconds>>;
    [[nodiscard]] forecast foresee(const ages& told, time_point now) EXCLUDES(mutex_);
    // Asks for it where it matters, and leaves no note. Empty: nobody could tell.
    void look_at_promotion(std::size_t i, time_point deadline,
                           backend::handler<std::optional<milliseconds>> done) EXCLUDES(mutex_);
    // Called on the reactor thread when `look` may say something else than before.
    std::function<void()> on_change;

    // The first member that leads to the same server as this one, as far as they are connected; itself, if
    // there is none.
    [[nodiscard]] std::size_t first_self(std::size_t i) EXCLUDES(mutex_);
    // "b:2 is the same server as a:1; ...", or nothing.
    [[nodiscard]] std::string doubles() EXCLUDES(mutex_);
    // Which run of which server the member was connected to last: a name for roll.
    [[nodiscard]] std::string server_of(std::size_t i) EXCLUDES(mutex_);

    // Takes the token back from one member, without waiting; insisting, again later whatever it says.
    void give_back(std::size_t i, const backend::lock_key&, const owner_id& token, milliseconds lease,
                   bool insist, unsigned attempt = 0);
    // Releases on one member; what it may carry out later is taken back without `done`.
    void release_at(std::size_t i, const backend::release_request&, time_point deadline,
                    backend::handler<backend::release_answer> done);
    // A question about a token that was granted by others may still be on its way to this member.
    void remember_stray(const owner_id& token, std::size_t i);
    // True: it was remembered, and is not any more.
    bool take_stray(const owner_id& token, std::size_t i) EXCLUDES(mutex_);
    // A token is being taken back from a member that is there.
    [[nodiscard]] bool has_errands() const noexcept { return errands_.load(std::memory_order_acquire) > 0; }

  private:
    enum class mark { unasked, asked, agreed, other, unreadable };
    struct member {
        member(const engine::standing_rules& rules, config c) : settings(std::move(c)), stands(rules) {}

        const config settings;  // before the store, which refers to it
        engine::standing stands;
        bool known = false;  // it was reached once, or could not be
        bool up = false;
        bool replica = false;
        std::string why_down;
        std::error_code to_mend;  // that is the reason why it is down
        enum mark mark = mark::unasked;
        bool mark_is_new = false;  // we made it, and not all have agreed yet
        std::string mark_text;
        std::error_code mark_refused;  // where it is unreadable: why
        unsigned epoch = 0;            // of its connection: an answer of an earlier one says nothing
        std::unique_ptr<backend::store> store;
    };
    enum class health { unknown, whole, good, weak, gone };

    void on_notice(std::size_t i, const backend::notice& n);
    void review();
    void tell_doubles();
    // What a member is good for.
    struct stance {
        enum class what { votes, open, waits, gone, wrong } is;  // the best first
        bool nothing_against = false;                            // open, and it looks good
        time_point until{};                                      // it waits
        std::error_code to_mend{};                               // it is wrong
    };
    enum class marks { as_told, hoped_for };
    [[nodiscard]] stance stance_of(const member& m, const engine::standing& stands, marks how,
                                   time_point now) const REQUIRES(mutex_);
    // As a function of the number of a member.
    template <class Stance>
    [[nodiscard]] outlook weigh(time_point now, Stance stance) const REQUIRES(mutex_);
    [[nodiscard]] bool may_vote(const member& m, time_point now) const REQUIRES(mutex_);
    [[nodiscard]] bool connected(const member& m) const REQUIRES(mutex_);
    [[nodiscard]] bool would_vote(const member& m, time_point now) const REQUIRES(mutex_);
    [[nodiscard]] bool to_be_asked(const member& m) const REQUIRES(mutex_);
    [[nodiscard]] std::error_code to_mend(const member& m) const REQUIRES(mutex_);
    [[nodiscard]] std::size_t first_of(std::size_t i) const REQUIRES(mutex_);
    [[nodiscard]] std::string doubled(std::size_t i) const REQUIRES(mutex_);
    [[nodiscard]] std::string misuse() const REQUIRES(mutex_);
    [[nodiscard]] std::string missing(engine::member_set which, time_point now) const REQUIRES(mutex_);
    [[nodiscard]] std::string state_of(std::size_t i, time_point now) const REQUIRES(mutex_);
    [[nodiscard]] std::string too_few(std::size_t able, time_point now) const REQUIRES(mutex_);
    void later(milliseconds pause, void (council::*what)());

    // Reactor thread.
    void agree();
    void ask_since(std::size_t i, unsigned epoch);
    void on_since(std::size_t i, unsigned epoch, const backend::result<milliseconds>& age);
    void ask_for_mark(std::size_t i, unsigned epoch);
    void on_mark(std::size_t i, unsigned epoch, const backend::attempt_answer& answer);
    void take_back_marks() EXCLUDES(mutex_);
    void refresh_marks();
    template <class Answer>
    [[nodiscard]] backend::handler<Answer> on_reactor(std::size_t i, unsigned epoch,
                                                      void (council::*then)(std::size_t, unsigned,
                                                                            const Answer&));
    [[nodiscard]] bool is_present(std::size_t i, unsigned epoch) EXCLUDES(mutex_);
    [[nodiscard]] static owner_id agreement_on(const quorum_config& wanted);
    [[nodiscard]] std::string complaint_about(std::string_view written) const;

    [[nodiscard]] bool begin_errand(std::size_t i) EXCLUDES(mutex_);

    const base::client_id id_;
    const std::function<void(const backend::notice&)> tell_;
    const lock_name mark_;
    const owner_id agreement_;  // what the mark says: our members
    std::vector<io::drivable*> connections_;
    std::atomic<bool> closed_{false};
    std::atomic<bool> wanted_{false};
    std::atomic<std::size_t> errands_{0};

    base::mutex mutex_;
    // The vector and the stores do not change between open() and close(); what else a member has is guarded.
    std::vector<std::unique_ptr<member>> members_;
    std::string wrong_ GUARDED_BY(mutex_);  // what misuse() said when a member was heard of last
    std::optional<time_point> wanted_since_ GUARDED_BY(mutex_);
    std::map<std::string, engine::member_set, std::less<>> strays_ GUARDED_BY(mutex_);

    // Reactor thread only.
    health told_ = health::unknown;
    engine::member_set told_missing_;
    engine::member_set told_doubles_;
    time_point review_at_{};
};

}  // namespace holdfast::quorum_backend
