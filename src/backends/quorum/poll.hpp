// One question to all members, and what becomes of their answers.
#pragma once

#include "backends/quorum/council.hpp"
#include "base/annotations.hpp"

#include <memory>
#include <utility>

namespace holdfast::quorum_backend {

// Answers come on whichever threads read them. `Count` is given them one at a time:
//   bool add(std::size_t who, std::size_t server, Answer)   true: it knows enough, and is given no more;
//                                                           `server` as roll numbers it
//   void tell()                                             then, once, with nothing locked
template <class Count>
class poll {
  public:
    template <class... Args>
    explicit poll(std::shared_ptr<council> members, Args&&... args)
        : members_(std::move(members)), count_(std::forward<Args>(args)...) {}

    template <class Answer>
    void take(std::size_t who, Answer&& said) {
        auto server = members_->server_of(who);
        {
            base::guard lock(mutex_);
            const auto number = servers_.number_of(std::move(server));
            if (told_ || !count_.add(who, number, std::forward<Answer>(said))) return;
            told_ = true;
        }
        count_.tell();
    }

    [[nodiscard]] std::size_t members() const noexcept { return members_->size(); }

  private:
    const std::shared_ptr<council> members_;
    base::mutex mutex_;
    roll servers_ GUARDED_BY(mutex_);
    bool told_ GUARDED_BY(mutex_) = false;
    Count count_;  // under the mutex until `told_`, then of whoever has set it
};

// `put(i, hear)` asks member `i` and has it call `hear` with its answer.
template <class Answer, class Count, class Put>
void ask_all(const std::shared_ptr<poll<Count>>& all, Put&& put) {
    for (std::size_t i = 0; i < all->members(); ++i)
        put(i, [all, i](Answer said) { all->take(i, std::move(said)); });
}

}  // namespace holdfast::quorum_backend
