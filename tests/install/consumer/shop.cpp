#include "shop.hpp"

#include <mutex>

bool shop::sell() {
    const std::lock_guard hold{lock_};
    if (left_ == 0) return false;
    --left_;
    return true;
}
