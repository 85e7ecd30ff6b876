// Several locks as one: all are held, or none. The members may belong to different clients and be of
// different kinds.
#pragma once

#include "session/client_lock.hpp"

#include <holdfast/multi_lock.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace holdfast::session {

// Thread-safe.
class group final : public lockable, public std::enable_shared_from_this<group> {
  public:
    struct member {
        std::shared_ptr<client_lock> of;
        acquisition how;           // set by its lock object: ttl, renew, poll, total
        std::size_t given_at = 0;  // its position in the user's list
    };
    // The user's function, so never called on the reactor thread. Its exceptions are ignored.
    using waiting = std::function<void(const lock_name& name)>;

    // Throws errc::invalid_argument for an empty list, and for two members that are the same lock.
    group(std::vector<member> members, boot_clock::duration patience, waiting on_wait);

    const lock_name& name() const noexcept override { return name_; }
    void check_usable() const override;
    [[nodiscard]] outcome acquire(const acquisition& how) override;
    std::shared_ptr<under_way> acquire_later(const acquisition& how, callback<void(outcome)> done) override;
    void unlock() noexcept override;
    [[nodiscard]] std::optional<thread_status> held_here() const override;

    // In the order of acquisition, which is the same for all clients that use the same names.
    [[nodiscard]] const std::vector<member>& members() const noexcept { return members_; }
    [[nodiscard]] boot_clock::duration patience() const noexcept { return patience_; }
    // Reports that another owner holds `name` and that this acquisition now waits for it.
    void report_waiting(const lock_name& name) const noexcept;

  private:
    const std::vector<member> members_;
    const lock_name name_;
    const boot_clock::duration patience_;
    const waiting waiting_;
};

}  // namespace holdfast::session
