// The work of a joint store: what its requests do in the levels that the mode needs, and what happens when
// the mode changes.
//
// All leases of a client have one bound: the mode lease. It is extended only with an answer of the arbiter to
// a question asked after every lease that may be valid was held in all levels that the mode needs, or while
// that is so. So a valid lease is held in the levels of a mode that was in use less than a mode lease ago.
#pragma once

#include "backends/joint/holds.hpp"
#include "backends/joint/mode_keeper.hpp"
#include "backends/joint/skew.hpp"
#include "backends/joint/url.hpp"
#include "backends/services.hpp"
#include "base/annotations.hpp"
#include "io/reactor.hpp"
#include "store/bound.hpp"
#include "store/mode_switch.hpp"

#include <holdfast/examination.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::joint_backend {

using namespace backend;

// A lock that nobody but joint stores takes.
inline constexpr std::string_view probe_name = "holdfast.probe";

using level_opener = std::unique_ptr<store> (*)(const backends::services&);

class automation;

class core : public std::enable_shared_from_this<core> {
  public:
    core(const backends::services& given, joint_config wanted);

    // Opens the levels and the arbiter. Throws holdfast::error for what cannot be used.
    void open(level_opener opener);
    void close();
    void abandon() noexcept;

    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done);
    void renew(std::span<const renew_request> all, time_point deadline,
               handler<std::vector<renew_answer>> done);
    void release(const release_request& r, time_point deadline, handler<release_answer> done);
    // The caller has no memory for a release.
    void release_later(const lock_key& key, const owner_id& owner) noexcept;
    [[nodiscard]] std::unique_ptr<watch_handle> watch(const lock_key& key, const owner_id& owner,
                                                      handler<watch_event> on_event);

    [[nodiscard]] std::size_t size() const noexcept { return levels_.size(); }
    [[nodiscard]] store& level(std::size_t i) const noexcept { return *levels_[i]->store; }
    // The first level that the mode needs; the preferred one while there is no mode.
    [[nodiscard]] std::size_t first_level() const;
    [[nodiscard]] known_mode known() const;
    [[nodiscard]] mode_keeper& keeper() const noexcept { return *keeper_; }
    // Proposes a change from the mode with this epoch and these levels. Refuses one between two levels whose
    // clocks are surely further apart than max_skew, with errc::invalid_argument.
    void change_mode(std::uint64_t from_epoch, const needed_levels& from, needed_levels to,
                     change_signature by, changed_by how, time_point deadline,
                     handler<result<confirmed_mode>> done);
    // A lock is taken and released there: why that does not work, or empty.
    void try_level(std::size_t level, time_point deadline, handler<std::optional<failure>> done);
    // None if no fence depends on the clocks.
    void examine_clocks(time_point deadline, handler<std::vector<finding>> done);
    // What the hosts of the group say about its levels, while it changes its mode automatically.
    void read_health(time_point deadline, handler<result<register_value>> done);

    const joint_config wanted;

  private:
    struct round;
    struct renewals;
    struct releasing;
    struct watching;
    struct clock_look;
    class watch_of_levels;

    struct a_level {
        config settings;
        std::unique_ptr<backend::store> store;
        // Guarded by the core's mutex:
        std::shared_ptr<const bound> session;  // with the last grant
        std::optional<notice> link{};          // link_up or link_down, the latest
    };

    void open_arbiter(level_opener opener);

    // --- attempts
    void next_level(const std::shared_ptr<round>& to);
    void on_answer(const std::shared_ptr<round>& to, std::size_t level, const owner_id& as,
                   attempt_answer&& got);
    void raise_fence(const std::shared_ptr<round>& to, std::size_t level, const owner_id& as);
    void give_back(const std::shared_ptr<round>& to, attempt_answer&& then);
    void answer(const std::shared_ptr<round>& to, attempt_answer&& what);
    void wait_for_mode(const std::shared_ptr<round>& to) REQUIRES(mutex_);
    // Gives it a name in that level, if it has none.
    void name_in(hold& h, std::size_t level) REQUIRES(mutex_);
    void ask_as(hold& h, std::size_t level) REQUIRES(mutex_);
    // No level that the group may come to use grants such a lease, or keeps it: a lease must outlive each
    // change of the mode.
    [[nodiscard]] std::optional<failure> too_long(milliseconds lease) const;
    [[nodiscard]] milliseconds within_limits(milliseconds lease) const;
    [[nodiscard]] failure why_no_mode() const REQUIRES(mutex_);
    [[nodiscard]] bool may_grant(time_point now) const REQUIRES(mutex_);

    // --- renewals and releases
    void send_renewals(const std::shared_ptr<renewals>& r);
    void on_renewed(const std::shared_ptr<renewals>& r);
    void next_release(const std::shared_ptr<releasing>& r);
    // Releases it there, later and again, as long as an earlier request may be carried out.
    void undo_soon(std::size_t level, const lock_key& key, const owner_id& owner, milliseconds lease);
    void free_parts(const hold_ptr& h, std::span<const std::size_t> of) REQUIRES(mutex_);
    void free_all_parts(const hold_ptr& h) REQUIRES(mutex_);

    // --- changes of the mode
    void on_mode(const confirmed_mode& now);
    void on_failure(const failure& why);
    // It answers, so what it failed with before is over.
    void on_answer_of_arbiter();
    [[nodiscard]] bool arbiter_came_back() REQUIRES(mutex_);
    void move(const hold_ptr& h);
    void on_moved(const hold_ptr& h, std::size_t level, const owner_id& as, std::uint64_t epoch,
                  const attempt_answer& got);
    // Called by the client, which may keep the lock for a while.
    enum class early { unasked, by_operator };
    [[nodiscard]] std::function<void()> when_ended(const hold_ptr& h, early how);
    void end_lease(const hold_ptr& h, const std::string& why);
    void look_at_bound();
    void leave_other_levels() REQUIRES(mutex_);
    void extend_bound(time_point now) REQUIRES(mutex_);
    // True: the bound may end earlier than before, of which its holders must be told.
    bool follow_sessions(time_point now) REQUIRES(mutex_);
    void forget_passed_sessions(time_point now) REQUIRES(mutex_);
    void free_what_is_over(time_point now) REQUIRES(mutex_);
    void on_notice(std::size_t level, const notice& n);
    void on_session_lost(std::size_t level, const notice& n);
    void on_link(std::size_t level, const notice& n);
    // What to report of the links to the levels that the mode needs: down, if one of them is.
    [[nodiscard]] std::optional<notice> link_of_needed() const REQUIRES(mutex_);
    // The same, if it was reported otherwise.
    [[nodiscard]] std::optional<notice> news_of_link() REQUIRES(mutex_);

    // --- automatic changes
    void begin_automation();
    void end_probe(std::size_t level, const owner_id& owner);

    // --- clocks
    // The fences of all levels follow clocks, so that these must agree.
    [[nodiscard]] bool has_clocks() const;
    void read_clocks(std::vector<std::size_t> of, time_point deadline,
                     handler<std::vector<result<readings>>> done);
    [[nodiscard]] std::optional<failure> too_far_apart(const needed_levels& of,
                                                       const std::vector<result<readings>>& got);
    [[nodiscard]] std::vector<finding> findings_about(const std::vector<result<readings>>& clocks) const;

    // --- messages
    // A waiter that is about to ask does not need to be told that the watch has begun.
    enum class told { all, no_beginning };
    void watch_levels(const std::shared_ptr<watching>& w, told what = told::all);
    void watch_under_new_name(const hold_ptr& h);
    void watch_anew() REQUIRES(mutex_);

    [[nodiscard]] bool closed() const noexcept { return closed_.load(); }
    [[nodiscard]] std::string place(std::size_t level) const;
    [[nodiscard]] std::string place_of_arbiter() const;
    // Requests to the first level may be made by the thread that waits for their answer, which lends itself
    // to that level's I/O. All others are made on the reactor's thread.
    template <class F>
    void on_thread_for(std::size_t level, std::thread::id caller, F f) {
        if (given_.reactor.in_thread() || (level == 0 && std::this_thread::get_id() == caller)) return f();
        given_.reactor.post([self = shared_from_this(), f = std::move(f)]() mutable { f(); });
    }

    const backends::services given_;
    const config settings_;  // of the client
    const engine::clock_margin margin_;
    config arbiter_settings_;
    std::vector<std::unique_ptr<a_level>> levels_;
    std::unique_ptr<store> arbiter_;       // empty if it is one of the levels
    linearizable_register* in_ = nullptr;  // of the arbiter; nullptr: the mode is pinned
    std::shared_ptr<mode_keeper> keeper_;
    std::shared_ptr<automation> automation_;
    std::atomic<bool> closed_{false};
    std::atomic<bool> clocks_apart_{false};  // at the last look

    mutable base::mutex mutex_;
    std::optional<mode_record> mode_ GUARDED_BY(mutex_);
    time_point learned_ GUARDED_BY(mutex_){};   // when this client learned of the mode
    time_point asked_ GUARDED_BY(mutex_){};     // the mode was that at some moment since then
    failure why_none_ GUARDED_BY(mutex_);       // the arbiter's last failure
    bool unusable_ GUARDED_BY(mutex_) = false;  // this client cannot use what the arbiter has
    bool arbiter_is_down_ GUARDED_BY(mutex_) = false;
    std::optional<notice::change> link_told_ GUARDED_BY(mutex_);  // link_up or link_down
    std::shared_ptr<bound> bound_ GUARDED_BY(mutex_);
    holds holds_ GUARDED_BY(mutex_);
    std::vector<std::shared_ptr<round>> waiting_ GUARDED_BY(mutex_);  // for a mode
    std::vector<std::weak_ptr<watching>> watches_ GUARDED_BY(mutex_);

    // Owners whose release in the first level may come again, until then: another hold of the same owner
    // needs another name there.
    base::mutex names_mutex_;
    std::unordered_map<std::string, time_point> undone_ GUARDED_BY(names_mutex_);
};

}  // namespace holdfast::joint_backend
