// Lets no grant pass of a server that may have forgotten locks: one that was started anew
// (restarts=quarantined) or promoted (failover=grace), until the longest lease that it may have forgotten is
// over. Renewals and releases need no gate: they find the lock or they do not.
#pragma once

#include "base/annotations.hpp"
#include "engine/standing.hpp"
#include "redis/config.hpp"
#include "redis/node.hpp"
#include "store/requests.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::redis_backend {

// Answers are judged when they are heard: which run of which server a connection leads to was told before
// anything went over it. A grant of the server before, heard so late that the next one counts already, is
// over itself, because no lease is longer than the quarantine. Thread-safe.
class gate {
  public:
    explicit gate(const redis::quarantine_config& rules) : rules_(rules) {}

    void up(const redis::node_event&, backend::time_point now) EXCLUDES(mutex_);
    void down(backend::time_point now) EXCLUDES(mutex_);
    // It granted something. If it was met as a replica it was promoted since, and nobody knows when.
    void took_a_write(backend::time_point now) EXCLUDES(mutex_);

    // A server does not say when it was promoted, but clients leave a note there (scripts/promoted.lua).
    // Empty: it does not matter, or is known already. Else the server as the note calls it, and for `noted`.
    [[nodiscard]] std::optional<std::string> question(backend::time_point now) const EXCLUDES(mutex_);
    void noted(const std::string& server, std::chrono::milliseconds ago, backend::time_point now)
        EXCLUDES(mutex_);
    void cannot_be_noted(const std::string& server, std::string why) EXCLUDES(mutex_);

    // Before anything is sent: why it is in vain. Empty if that is not known yet.
    [[nodiscard]] std::optional<backend::refused> before(std::chrono::milliseconds lease,
                                                         backend::time_point now) const EXCLUDES(mutex_);
    // Why what was answered must not be believed.
    [[nodiscard]] std::optional<backend::refused> behind(backend::time_point now) const EXCLUDES(mutex_);
    // For who only looks: why nothing is granted now, where the note says that it is the master for so long.
    [[nodiscard]] std::optional<backend::refused> seen(std::optional<std::chrono::milliseconds> noted,
                                                       backend::time_point now) const EXCLUDES(mutex_);
    [[nodiscard]] bool too_long(std::chrono::milliseconds lease) const noexcept {
        return lease > rules_.longest_lease;
    }

  private:
    [[nodiscard]] std::optional<backend::refused> closed(const std::optional<engine::standing>&,
                                                         backend::time_point now) const REQUIRES(mutex_);
    [[nodiscard]] bool questionable(backend::time_point now) const REQUIRES(mutex_);

    const redis::quarantine_config rules_;
    mutable base::mutex mutex_;
    std::optional<engine::standing> server_ GUARDED_BY(mutex_);  // empty: this one is trusted
    bool up_ GUARDED_BY(mutex_) = false;
    std::string address_ GUARDED_BY(mutex_);
    backend::time_point down_at_ GUARDED_BY(mutex_){};
    std::string run_ GUARDED_BY(mutex_);  // of the server that was met last
    bool replica_ GUARDED_BY(mutex_) = false;
    bool promoted_ GUARDED_BY(mutex_) = false;
    bool asked_ GUARDED_BY(mutex_) = false;  // for the note
    std::string no_note_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::redis_backend
