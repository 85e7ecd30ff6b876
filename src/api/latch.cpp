#include <holdfast/latch.hpp>

#include "api/counter.hpp"
#include "api/outcome.hpp"

namespace holdfast {

using backend::adjustment;
using detail::adjust;

latch::latch(client& on, lock_name name) : leasable(on, std::move(name), kind::latch, {{}, false, false}) {}

bool latch::try_set_count(std::int64_t count) {
    if (count < 1) throw error(errc::invalid_argument, "the count of a latch must be 1 or more");
    detail::check_size(count);
    return adjust(client_lock(), adjustment::set_if_unset, count) == 1;
}

std::int64_t latch::count_down(std::int64_t by) {
    if (by < 1) throw error(errc::invalid_argument, "a latch is counted down by 1 or more");
    detail::check_size(by);
    return adjust(client_lock(), adjustment::count_down, by);
}

std::int64_t latch::count() { return adjust(client_lock(), adjustment::read); }

bool latch::erase() { return adjust(client_lock(), adjustment::erase) == 1; }

void latch::wait(const std::stop_token& stop) { (void)wait_until_(time_point::max(), stop); }

// Acquiring a latch means seeing it at zero; there is nothing to hold.
bool latch::wait_until_(time_point until, const std::stop_token& stop) {
    return static_cast<bool>(try_acquire_until_(until, {.stop = stop}));
}

}  // namespace holdfast
