#include "engine/all_or_nothing.hpp"

namespace holdfast::engine {

all_action all_or_nothing::begin() {
    at_ = 0;
    waited_ = waiting_ = false;
    return acquire_next();
}

// A caller that holds nothing may wait as long as it likes.
all_action all_or_nothing::acquire_next() {
    if (at_ == 0) return acquire_member{0, how_.give_up_at};
    return acquire_member{at_, std::nullopt};
}

all_action all_or_nothing::on_held(bool sound) {
    if (!sound) {
        // No work ran under the expired lease. If we waited meanwhile, our wait used it up.
        if (waited_) return begin_again();
        return end(end_without::reason::too_short);
    }
    waiting_ = false;
    if (++at_ < how_.members) return acquire_next();
    return hold_all{};
}

all_action all_or_nothing::on_busy(time_point now) {
    const bool in_time = how_.give_up_at && now < *how_.give_up_at;
    if (at_ == 0 || !in_time) return end(end_without::reason::busy);
    if (waiting_) return begin_again();
    waiting_ = waited_ = true;
    const bool long_wait = *how_.give_up_at - now > how_.patience;
    return acquire_member{at_, long_wait ? now + how_.patience : *how_.give_up_at};
}

all_action all_or_nothing::on_failed() { return end(end_without::reason::failed); }

all_action all_or_nothing::begin_again() {
    end_.reset();
    return release_all_held{};
}

all_action all_or_nothing::end(end_without::reason why) {
    end_ = end_without{why, at_};
    return release_all_held{};
}

all_action all_or_nothing::on_all_released() {
    if (end_) return *end_;
    return begin();
}

}  // namespace holdfast::engine
