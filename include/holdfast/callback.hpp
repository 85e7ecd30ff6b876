// A function to be called later. Move-only; small functions need no allocation.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace holdfast {

// std::function must be able to copy its target, and so allocates for nearly everything that owns something;
// std::move_only_function is C++23. `Room` is in bytes.
template <class Signature, std::size_t Room = 48>
class callback;

template <class... Args, std::size_t Room>
class callback<void(Args...), Room> {
  public:
    callback() noexcept = default;
    callback(std::nullptr_t) noexcept {}
    template <class F,
              class = std::enable_if_t<!std::is_same_v<F, callback> && std::is_invocable_v<F&, Args...>>>
    callback(F f) {
        if constexpr (fits<F>) {
            ::new (static_cast<void*>(room_)) F(std::move(f));
            how_ = &in_place<F>;
        } else {
            ::new (static_cast<void*>(room_)) F*(new F(std::move(f)));
            how_ = &on_heap<F>;
        }
    }
    callback(callback&& other) noexcept { take(other); }
    callback& operator=(callback&& other) noexcept {
        if (this != &other) {
            clear();
            take(other);
        }
        return *this;
    }
    callback(const callback&) = delete;
    callback& operator=(const callback&) = delete;
    ~callback() { clear(); }

    explicit operator bool() const noexcept { return how_ != nullptr; }
    // Do not call an empty one. const as std::function's: the target may change.
    void operator()(Args... args) const { how_->call(room_, std::forward<Args>(args)...); }

  private:
    struct way {
        void (*call)(void*, Args&&...);
        void (*move)(void* from, void* to) noexcept;
        void (*destroy)(void*) noexcept;
    };
    template <class F>
    static constexpr bool fits = sizeof(F) <= Room &&
                                 alignof(F) <= alignof(void*) && std::is_nothrow_move_constructible_v<F>;
    template <class F>
    static constexpr way in_place{
        [](void* at, Args&&... args) { (*static_cast<F*>(at))(std::forward<Args>(args)...); },
        [](void* from, void* to) noexcept {
            ::new (to) F(std::move(*static_cast<F*>(from)));
            static_cast<F*>(from)->~F();
        },
        [](void* at) noexcept { static_cast<F*>(at)->~F(); }};
    template <class F>
    static constexpr way on_heap{
        [](void* at, Args&&... args) { (**static_cast<F**>(at))(std::forward<Args>(args)...); },
        [](void* from, void* to) noexcept { ::new (to) F*(*static_cast<F**>(from)); },
        [](void* at) noexcept { delete *static_cast<F**>(at); }};

    void take(callback& other) noexcept {
        how_ = std::exchange(other.how_, nullptr);
        if (how_ != nullptr) how_->move(other.room_, room_);
    }
    void clear() noexcept {
        if (how_ != nullptr) std::exchange(how_, nullptr)->destroy(room_);
    }

    const way* how_ = nullptr;
    alignas(void*) mutable std::byte room_[Room < sizeof(void*) ? sizeof(void*) : Room];
};

}  // namespace holdfast
