// Rejects the grants of a server that may have forgotten locks, because it was restarted
// (restarts=quarantined) or promoted (failover=grace), until the longest lease that it may have forgotten is
// over. Renewals and releases need no filter: they find the lock or they do not.
#pragma once

#include "backends/redis/url/lock_url.hpp"
#include "base/annotations.hpp"
#include "engine/quarantine.hpp"
#include "redis/node_event.hpp"
#include "store/requests.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::redis_backend {

// Judges an answer when it is received: the filter learns the run of the server at the other end of a
// connection before the connection carries a request. If a grant of the previous server arrives only after
// the quarantine of the next one, its lease is over, because no lease is longer than the quarantine.
// Thread-safe.
class quarantine_filter {
  public:
    explicit quarantine_filter(const quarantine_rules& rules) : rules_(rules) {}

    void on_up(const redis::node_event&, backend::time_point now) EXCLUDES(mutex_);
    void on_down(backend::time_point now) EXCLUDES(mutex_);
    // The server granted something. If it was a replica when the client connected, it has been promoted; when
    // is not known.
    void on_write_accepted(backend::time_point now) EXCLUDES(mutex_);

    // A server does not say when it was promoted, but clients leave a note there (scripts/promoted.lua).
    // Returns the name of the server in the note, also for `promotion_noted`; empty if the time does not
    // matter or is already known.
    [[nodiscard]] std::optional<std::string> unknown_promotion(backend::time_point now) const
        EXCLUDES(mutex_);
    void promotion_noted(const std::string& server, std::chrono::milliseconds ago, backend::time_point now)
        EXCLUDES(mutex_);
    void promotion_cannot_be_noted(const std::string& server, std::string why) EXCLUDES(mutex_);

    // Why an attempt would fail, before it is sent. Empty if no reason is known yet.
    [[nodiscard]] std::optional<backend::refused> refuse_request(std::chrono::milliseconds lease,
                                                                 backend::time_point now) const
        EXCLUDES(mutex_);
    // Why the client must not trust the answer. Empty if it may.
    [[nodiscard]] std::optional<backend::refused> refuse_answer(backend::time_point now) const
        EXCLUDES(mutex_);
    // For an inspection: why no lock is granted now, if by the note the server has been the master for
    // `noted`.
    [[nodiscard]] std::optional<backend::refused> refusal_shown(
        std::optional<std::chrono::milliseconds> noted, backend::time_point now) const EXCLUDES(mutex_);
    [[nodiscard]] bool too_long(std::chrono::milliseconds lease) const noexcept {
        return lease > rules_.longest_lease;
    }

  private:
    [[nodiscard]] std::optional<backend::refused> refusal(const std::optional<engine::quarantine>& quarantine,
                                                          backend::time_point now) const REQUIRES(mutex_);
    [[nodiscard]] bool promotion_is_unknown(backend::time_point now) const REQUIRES(mutex_);

    const quarantine_rules rules_;
    mutable base::mutex mutex_;
    std::optional<engine::quarantine> quarantine_ GUARDED_BY(mutex_);  // empty: the server is trusted
    bool up_ GUARDED_BY(mutex_) = false;
    std::string address_ GUARDED_BY(mutex_);
    backend::time_point down_at_ GUARDED_BY(mutex_){};
    std::string run_ GUARDED_BY(mutex_);  // of the server of the last connection
    bool replica_ GUARDED_BY(mutex_) = false;
    bool promoted_ GUARDED_BY(mutex_) = false;
    bool asked_ GUARDED_BY(mutex_) = false;  // unknown_promotion() is settled
    std::string no_note_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::redis_backend
