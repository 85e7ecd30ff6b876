// One acquisition of a group under way, for a thread that waits or for none: what is held so far, and what
// the answers mean.
#pragma once

#include "engine/all_or_nothing.hpp"
#include "session/group.hpp"

#include <memory>
#include <vector>

namespace holdfast::session {

// For one thread at a time.
class gathering {
  public:
    gathering(std::shared_ptr<const group> of, acquisition how);

    [[nodiscard]] engine::all_action begin() { return machine_.begin(); }
    [[nodiscard]] engine::all_action on_given_back() { return machine_.on_given_back(); }
    // The outcome of the member that was asked.
    [[nodiscard]] engine::all_action on_outcome(lockable::outcome answer);

    struct question {
        cell& of;
        acquisition how;
        bool in_hand;  // somebody has it and is waited for while we hold others: group::tell_waiting
    };
    [[nodiscard]] question question_for(const engine::ask_member& ask);

    // Those that are held, the latest first; forgets them. Blocks.
    void give_back();
    // The same without a thread that waits.
    void give_back_later(callback<void()> done);

    // In the end.
    [[nodiscard]] lockable::outcome end(const engine::hold_all&);
    [[nodiscard]] lockable::outcome end(const engine::end_without& how);

  private:
    [[nodiscard]] std::vector<std::shared_ptr<tenancy>> leases() const;
    void keep_while_waiting();
    void keep_no_more();
    void forget();

    const std::shared_ptr<const group> of_;
    const acquisition wanted_;
    engine::all_or_nothing machine_;
    std::size_t held_ = 0;
    hold_of_all::holds holds_;                    // empty ones for a thread's own
    std::vector<std::shared_ptr<tenancy>> kept_;  // renewed only until all are held
    failed why_;
};

}  // namespace holdfast::session
