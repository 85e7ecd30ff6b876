// One attempt at a lock: sends the same owner token to all members at once.
#pragma once

#include "backends/redlock/distinct_servers.hpp"
#include "backends/redlock/member_errors.hpp"
#include "backends/redlock/members.hpp"
#include "backends/redlock/round_timeouts.hpp"
#include "store/counters.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::redlock_backend {

// Thread-safe: answers arrive on any thread. It sends nothing and calls no callback while it holds its mutex,
// because a store may answer before it returns.
class round final : public timed_round, public std::enable_shared_from_this<round> {
  public:
    using handler = backend::handler<backend::attempt_answer>;

    round(std::shared_ptr<members> members, round_timeouts& open, const backend::attempt_request& what,
          time_point deadline, handler done)
        : members_(std::move(members)),
          timeouts_(open),
          what_(what),
          deadline_(deadline),
          begun_(boot_clock::now()),
          done_(std::move(done)) {}

    // Call once.
    void begin();
    void on_timeout() override;
    void on_members_changed() override;
    // The store is closed.
    void close();

  private:
    enum class stage {
        waiting,  // until enough members are connected
        asking,
        over,  // `done_` was called; late votes may still be undone
    };

    // Asks the members if enough are connected, waits while they may still connect, else fails.
    void consider(time_point now) EXCLUDES(mutex_);
    void ask_all(time_point now) EXCLUDES(mutex_);
    void on_vote(std::size_t who, const backend::attempt_answer& answer);
    void on_raised(std::size_t who, const backend::adjust_answer& answer);
    [[nodiscard]] engine::vote read(std::size_t who, const backend::attempt_answer& answer) REQUIRES(mutex_);
    void carry_out(const engine::quorum_attempt::action& a, time_point now) EXCLUDES(mutex_);
    void add_error(std::size_t who, const backend::failure& why) REQUIRES(mutex_);
    [[nodiscard]] bool waited(time_point now) const REQUIRES(mutex_);
    [[nodiscard]] std::string what_was_missing(time_point now, const std::string& uncounted = {}) const
        REQUIRES(mutex_);
    [[nodiscard]] std::size_t wanting(time_point now) const REQUIRES(mutex_);
    [[nodiscard]] backend::attempt_answer answer(engine::quorum_attempt::outcome o, time_point now)
        REQUIRES(mutex_);
    [[nodiscard]] milliseconds pause(time_point now) REQUIRES(mutex_);
    void finish(backend::attempt_answer answer) EXCLUDES(mutex_);

    const std::shared_ptr<members> members_;
    round_timeouts& timeouts_;
    const backend::attempt_request what_;
    const time_point deadline_;
    const time_point begun_;
    handler done_;  // called by the thread that moves stage_ to `over`

    base::mutex mutex_;
    stage stage_ GUARDED_BY(mutex_) = stage::waiting;
    std::optional<time_point> until_ GUARDED_BY(mutex_);  // its time-out in timeouts_
    time_point sent_ GUARDED_BY(mutex_){};
    std::optional<engine::quorum_attempt> attempt_ GUARDED_BY(mutex_);
    bool granted_ GUARDED_BY(mutex_) = false;
    engine::member_set voted_ GUARDED_BY(mutex_);
    distinct_servers voters_ GUARDED_BY(mutex_);
    milliseconds lease_ GUARDED_BY(mutex_) = what_.lease;  // the shortest that a member granted
    std::string holder_ GUARDED_BY(mutex_);                // the text of a holder
    member_errors errors_ GUARDED_BY(mutex_);              // of members that said neither yes nor no
};

}  // namespace holdfast::redlock_backend
