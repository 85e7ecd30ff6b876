// Grants nothing on a server that may have forgotten locks, until the longest lease is over.
#pragma once

#include "base/annotations.hpp"
#include "engine/quarantine.hpp"
#include "store/requests.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace holdfast::sql_backend {

// The server shows by a mark which run it is: the mark is lost when the server may have lost commits.
// Thread-safe.
class quarantine {
  public:
    explicit quarantine(backend::milliseconds longest_lease)
        : longest_lease_(longest_lease), state_({longest_lease, true}) {}

    // Call it before a session carries requests. The mark is `age` old.
    void on_session(const std::string& address, const std::string& run, std::chrono::seconds age,
                    backend::time_point now);

    // Whether it lasts until such a lease, granted before it began, is over.
    [[nodiscard]] bool outlasts(backend::milliseconds lease) const noexcept {
        return lease <= longest_lease_;
    }
    // Why an attempt would fail, before it is sent. Empty if no reason is known yet.
    [[nodiscard]] std::optional<backend::refused> refuse_request(backend::milliseconds lease,
                                                                 backend::time_point now) const;
    // Why the client must not trust the answer. Empty if it may.
    [[nodiscard]] std::optional<backend::refused> refuse_answer(backend::time_point now) const;

  private:
    const backend::milliseconds longest_lease_;
    mutable base::mutex mutex_;
    bool met_ GUARDED_BY(mutex_) = false;  // a server
    std::string address_ GUARDED_BY(mutex_);
    engine::quarantine state_ GUARDED_BY(mutex_);
};

}  // namespace holdfast::sql_backend
