// One question to all members, and what becomes of their answers.
#pragma once

#include "backends/quorum/council.hpp"
#include "base/annotations.hpp"

#include <memory>
#include <utility>

namespace holdfast::quorum_backend {

// Answers come on whichever threads read them. `Count` is given them one at a time:
//   bool add(std::size_t who, Answer)   true: it knows enough, and is given no more
//   void tell()                         then, once, with nothing locked
template <class Count>
class poll {
  public:
    template <class... Args>
    explicit poll(Args&&... args) : count_(std::forward<Args>(args)...) {}

    template <class Answer>
    void take(std::size_t who, Answer&& said) {
        {
            base::guard lock(mutex_);
            if (told_ || !count_.add(who, std::forward<Answer>(said))) return;
            told_ = true;
        }
        count_.tell();
    }

  private:
    base::mutex mutex_;
    bool told_ GUARDED_BY(mutex_) = false;
    Count count_;  // under the mutex until `told_`, then of whoever has set it
};

// `put(i, hear)` asks member `i` and has it call `hear` with its answer.
template <class Answer, class Count, class Put>
void ask_all(std::size_t members, const std::shared_ptr<poll<Count>>& all, Put&& put) {
    for (std::size_t i = 0; i < members; ++i)
        put(i, [all, i](Answer said) { all->take(i, std::move(said)); });
}

}  // namespace holdfast::quorum_backend
