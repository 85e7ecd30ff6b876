// Polls several links together: one thread waits for the replies of all.
#include "redis/connection/link.hpp"

#include <algorithm>

#include <poll.h>

namespace holdfast::redis {

link::part link::begin_turn(io::parked_caller& me) {
    base::guard hold{mutex_};
    if (role_ == role::caller || !has_work()) {
        parked_.push_back(&me);
        return part::bystander;
    }
    role_ = role::caller;
    return part::reader;
}

link::interest link::poll_for() {
    base::guard hold{mutex_};
    if (state_ == state::up && has_unwritten() && !conn_->writing) write_out();
    polled_ = conn_;
    if (!polled_) return {-1, 0, &wake_};
    const bool want_room = !polled_->writing && polled_->outbox_begin < polled_->outbox.size();
    return {polled_->stream->fd(), static_cast<short>(want_room ? POLLIN | POLLOUT : POLLIN), &wake_};
}

void link::read_some() {
    base::guard pumping{pump_mutex_};
    (void)pump(polled_);
}

void link::end_turn(part was, io::parked_caller& me) {
    base::guard hold{mutex_};
    if (was == part::reader) {
        polled_.reset();
        role_ = role::idle;
        // The caller may have enough replies from other links: the next caller that waits, or the tick, reads
        // what is still to come here.
        pass_reading_on(false);
    } else if (!me.nudged) {
        std::erase(parked_, &me);
    } else if (role_ == role::idle) {
        pass_reading_on(false);
    }
}

}  // namespace holdfast::redis
