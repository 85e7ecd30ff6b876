// One acquisition of a group, with or without a waiting thread: it knows what is held so far, and what the
// answers mean.
#pragma once

#include "engine/all_or_nothing.hpp"
#include "session/group.hpp"

#include <memory>
#include <vector>

namespace holdfast::session {

// Used by one thread at a time.
class group_acquire {
  public:
    group_acquire(std::shared_ptr<const group> of, acquisition how);

    [[nodiscard]] engine::all_action begin() { return machine_.begin(); }
    [[nodiscard]] engine::all_action on_all_released() { return machine_.on_all_released(); }
    // Takes the outcome of the last member_request.
    [[nodiscard]] engine::all_action on_outcome(lockable::outcome answer);

    struct member_request {
        client_lock& of;
        acquisition how;
        bool in_hand;  // another owner has it, and we wait for it while we hold others: group::report_waiting
    };
    [[nodiscard]] member_request request_for(const engine::acquire_member& next);

    // Releases all held locks, the latest first, and forgets them. Blocks.
    void release_all();
    // The same without a waiting thread.
    void release_all_later(callback<void()> done);

    // The result of the acquisition.
    [[nodiscard]] lockable::outcome end(const engine::hold_all&);
    [[nodiscard]] lockable::outcome end(const engine::end_without& how);

  private:
    [[nodiscard]] std::vector<std::shared_ptr<held_lease>> leases() const;
    void keep_while_waiting();
    void stop_keeping();
    void forget();

    const std::shared_ptr<const group> of_;
    const acquisition wanted_;
    engine::all_or_nothing machine_;
    std::size_t held_ = 0;
    hold_of_all::holds holds_;                       // empty for locks held by lock()
    std::vector<std::shared_ptr<held_lease>> kept_;  // renewed only until all are held
    failed why_;
};

}  // namespace holdfast::session
