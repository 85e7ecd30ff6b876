// One attempt at a lock: the same token put to all members at once.
#pragma once

#include "backends/quorum/council.hpp"
#include "backends/quorum/docket.hpp"
#include "backends/quorum/objections.hpp"

#include <holdfast/backend.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::quorum_backend {

// Thread-safe: answers come on whichever thread reads them. Nothing is sent and nobody told under its mutex,
// for a store may answer before it returns.
class round final : public matter, public std::enable_shared_from_this<round> {
  public:
    using handler = backend::handler<backend::attempt_answer>;

    round(std::shared_ptr<council> members, docket& open, const backend::attempt_request& what,
          time_point deadline, handler done)
        : members_(std::move(members)),
          docket_(open),
          what_(what),
          deadline_(deadline),
          begun_(boot_clock::now()),
          done_(std::move(done)) {}

    // Once.
    void begin();
    void on_elapsed() override;
    void on_change() override;
    // The store is closed.
    void close();

  private:
    enum class stage {
        waiting,  // for enough members to be there
        asking,
        over,  // `done_` was called; late votes may still have to be undone
    };

    // Asks when enough members are there, waits while they may yet come, or says that they do not.
    void consider(time_point now) EXCLUDES(mutex_);
    void ask_all(time_point now) EXCLUDES(mutex_);
    void on_vote(std::size_t who, const backend::attempt_answer& answer);
    void on_raised(std::size_t who, const backend::adjust_answer& answer);
    [[nodiscard]] engine::vote read(std::size_t who, const backend::attempt_answer& answer) REQUIRES(mutex_);
    void obey(const engine::ballot::action& a, time_point now) EXCLUDES(mutex_);
    void object(std::size_t who, const backend::failure& why) REQUIRES(mutex_);
    [[nodiscard]] bool waited(time_point now) const REQUIRES(mutex_);
    [[nodiscard]] std::string what_was_missing(time_point now, const std::string& doubts = {}) const
        REQUIRES(mutex_);
    [[nodiscard]] std::size_t wanting(time_point now) const REQUIRES(mutex_);
    [[nodiscard]] backend::attempt_answer answer(engine::ballot::outcome o, time_point now) REQUIRES(mutex_);
    [[nodiscard]] milliseconds pause(time_point now) REQUIRES(mutex_);
    void finish(backend::attempt_answer answer) EXCLUDES(mutex_);

    const std::shared_ptr<council> members_;
    docket& docket_;
    const backend::attempt_request what_;
    const time_point deadline_;
    const time_point begun_;
    handler done_;  // of whoever moves the stage to `over`

    base::mutex mutex_;
    stage stage_ GUARDED_BY(mutex_) = stage::waiting;
    std::optional<time_point> until_ GUARDED_BY(mutex_);  // it is in the docket
    time_point sent_ GUARDED_BY(mutex_){};
    std::optional<engine::ballot> ballot_ GUARDED_BY(mutex_);
    bool granted_ GUARDED_BY(mutex_) = false;
    engine::member_set voted_ GUARDED_BY(mutex_);
    roll voters_ GUARDED_BY(mutex_);
    std::string holder_ GUARDED_BY(mutex_);     // one of those who have it
    objections objections_ GUARDED_BY(mutex_);  // what members said instead of yes or no
};

}  // namespace holdfast::quorum_backend
