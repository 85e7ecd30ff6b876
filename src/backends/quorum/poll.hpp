// One question to all members, and what becomes of their answers. A server answers once, under whichever of
// its addresses.
#pragma once

#include "backends/quorum/council.hpp"
#include "base/annotations.hpp"

#include <memory>
#include <type_traits>
#include <utility>

namespace holdfast::quorum_backend {

// Of a member that was not asked.
template <class Answer>
Answer unheard(backend::failure why) {
    if constexpr (std::is_constructible_v<Answer, backend::unknown>)
        return backend::unknown{std::move(why)};
    else
        return {};
}

// Answers come on whichever threads read them. `Count` is given them one at a time:
//   bool add(std::size_t who, Answer)   true: it knows enough, and is given no more
//   void tell()                         then, once, with nothing locked
template <class Count>
class poll {
  public:
    template <class... Args>
    explicit poll(std::shared_ptr<council> members, Args&&... args)
        : members_(std::move(members)), count_(std::forward<Args>(args)...) {}

    template <class Answer>
    void take(std::size_t who, Answer said) {
        count(who, [&]() REQUIRES(mutex_) {
            return members_->answers_again(who, answered_)
                       ? unheard<Answer>({make_error_code(errc::unavailable), "its server has answered"})
                       : std::move(said);
        });
    }
    template <class Answer>
    void pass_over(std::size_t who, backend::failure why) {
        count(who, [&] { return unheard<Answer>(std::move(why)); });
    }
    [[nodiscard]] council& members() const noexcept { return *members_; }

  private:
    template <class Said>
    void count(std::size_t who, Said said) {
        {
            base::guard lock(mutex_);
            if (told_ || !count_.add(who, said())) return;
            told_ = true;
        }
        count_.tell();
    }

    const std::shared_ptr<council> members_;
    base::mutex mutex_;
    bool told_ GUARDED_BY(mutex_) = false;
    roll answered_ GUARDED_BY(mutex_);
    Count count_;  // under the mutex until `told_`, then of whoever has set it
};

// `put(i, hear)` asks member `i` and has it call `hear` with its answer.
template <class Answer, class Count, class Put>
void ask_all(const std::shared_ptr<poll<Count>>& all, Put&& put) {
    for (std::size_t i = 0; i < all->members().size(); ++i) {
        if (auto why = all->members().spoken_for(i))
            all->template pass_over<Answer>(i, std::move(*why));
        else
            put(i, [all, i](Answer said) { all->take(i, std::move(said)); });
    }
}

}  // namespace holdfast::quorum_backend
