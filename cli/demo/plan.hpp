// What the demo shows, and its numbers.
#pragma once

#include <array>
#include <cstdint>

namespace holdfast::cli::demo {

// The three rounds, in their order.
enum class protection {
    none,
    process,  // a std::mutex in each process
    store,    // one holdfast lock for all processes
};
inline constexpr std::array all_rounds{protection::none, protection::process, protection::store};

enum class demo_kind { mutex, recursive };

// The store of round three.
enum class demo_store {
    redis,   // a redis-server of the demo's own
    sqlite,  // a file of the demo's own
    file,    // a lock file of the demo's own
    given,   // by the user, as a URL
};

struct plan {
    std::int64_t requests = 100'000;
    std::int64_t stock = 60'000;
    int processes = 4;
    int threads = 16;  // in each process
    demo_kind kind = demo_kind::mutex;
    demo_store on = demo_store::redis;

    // How many requests the process with this number answers, counted from 0.
    [[nodiscard]] constexpr std::int64_t share_of(int process) const noexcept {
        return requests / processes + (process < requests % processes ? 1 : 0);
    }
};

}  // namespace holdfast::cli::demo
