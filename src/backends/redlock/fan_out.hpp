// Sends one question to all members and collects their answers.
#pragma once

#include "backends/redlock/distinct_servers.hpp"
#include "backends/redlock/members.hpp"
#include "base/annotations.hpp"

#include <memory>
#include <utility>

namespace holdfast::redlock_backend {

// Answers arrive on any thread. A fan_out passes them to `Count` one at a time:
//   bool add(std::size_t who, std::size_t server, Answer)   True: the result is decided, and no more answers
//                                                           follow. distinct_servers numbers the servers.
//   void finish()                                           Called once after that, without a mutex held.
template <class Count>
class fan_out {
  public:
    template <class... Args>
    explicit fan_out(std::shared_ptr<members> members, Args&&... args)
        : members_(std::move(members)), count_(std::forward<Args>(args)...) {}

    template <class Answer>
    void on_answer(std::size_t who, Answer&& answer) {
        auto server = members_->server_of(who);
        {
            base::guard lock(mutex_);
            const auto number = servers_.number_of(std::move(server));
            if (decided_ || !count_.add(who, number, std::forward<Answer>(answer))) return;
            decided_ = true;
        }
        count_.finish();
    }

    [[nodiscard]] std::size_t size() const noexcept { return members_->size(); }

  private:
    const std::shared_ptr<members> members_;
    base::mutex mutex_;
    distinct_servers servers_ GUARDED_BY(mutex_);
    bool decided_ GUARDED_BY(mutex_) = false;
    Count count_;  // guarded by mutex_ until decided_; then only the thread that set it uses it
};

// Calls `put(i, reply)` for each member; `put` asks member `i`, which calls `reply` with its answer.
template <class Answer, class Count, class Put>
void ask_all(const std::shared_ptr<fan_out<Count>>& all, Put&& put) {
    for (std::size_t i = 0; i < all->size(); ++i)
        put(i, [all, i](Answer answer) { all->on_answer(i, std::move(answer)); });
}

}  // namespace holdfast::redlock_backend
