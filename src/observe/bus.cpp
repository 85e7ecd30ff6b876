#include "observe/bus.hpp"

#include <utility>

namespace holdfast::observe {

// What one listener throws is no concern of the others.
void bus::listener::call(const event& e) noexcept try {
    base::guard lock(mutex);
    if (tell) tell(e);
} catch (...) {
}

event_subscription bus::listen(std::function<void(const event&)> tell, std::vector<event> so_far) {
    const auto mine = std::make_shared<listener>();
    {
        base::guard lock(mine->mutex);
        mine->tell = std::move(tell);
    }
    {
        base::guard lock(roster_->mutex);
        std::erase_if(roster_->listeners, [](const auto& l) { return l.expired(); });
        roster_->listeners.push_back(mine);
    }
    roster_->count.fetch_add(1, std::memory_order_relaxed);
    if (!so_far.empty()) {
        on_.post([mine, so_far = std::move(so_far)] {
            for (const auto& e : so_far) mine->call(e);
        });
    }
    // What the user holds: when it goes, it waits for a call under way and lets no other begin.
    return {static_cast<void*>(mine.get()), [mine, roster = roster_](void*) {
                roster->count.fetch_sub(1, std::memory_order_relaxed);
                base::guard lock(mine->mutex);
                mine->tell = nullptr;
            }};
}

bool bus::emit(event e) {
    if (!anybody()) return true;
    return on_.post([roster = roster_, e = std::move(e)] {
        std::vector<std::shared_ptr<listener>> now;
        {
            base::guard lock(roster->mutex);
            for (const auto& weak : roster->listeners) {
                if (auto l = weak.lock()) now.push_back(std::move(l));
            }
        }
        for (const auto& l : now) l->call(e);
    });
}

}  // namespace holdfast::observe
