// holdfast processes that take turns on the permits of one semaphore.
#pragma once

#include "rows/turns.hpp"

#include <holdfast/holdfast.hpp>

#include <string>

namespace holdfast::bench {

inline crew_body holdfast_permits(config settings) {
    return [settings](int, shared_page& page, const std::function<void()>& ready) {
        client c{settings};
        counting_semaphore permits{c, std::string{shared_name}, {.total = shared_page::permits}};
        (void)counting_semaphore{c, "bench:warm", {.total = 1}}.try_acquire_for(10s);
        const auto before = c.stats();
        ready();
        std::uint64_t n = 0;
        while (!page.over.load(std::memory_order_relaxed)) {
            auto held = permits.acquire();
            page.leave_permit(page.enter_with_permit());
            ++n;
            if (held.release() != release_outcome::released) throw std::runtime_error("a permit was lost");
        }
        return counted(c.stats(), before, n);
    };
}

}  // namespace holdfast::bench
