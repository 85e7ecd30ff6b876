// The first program of the README: two ways to hold a lock.
//[first
#include <holdfast/holdfast.hpp>

#include <iostream>
#include <mutex>

using namespace std::chrono_literals;

int main() try {
    holdfast::client locks{"redis://127.0.0.1:6379"};  // one per process
    holdfast::mutex stock{locks, "stock:42"};          // 30 s lease, renewed while held

    // As a standard mutex. Every other process that locks "stock:42" waits in the queue.
    {
        std::lock_guard hold{stock};
        std::cout << "one at a time\n";
    }

    // As a lease: proof of holding that can be checked, moved and released.
    if (holdfast::lease held = stock.try_acquire_for(2s, {.ttl = 10s})) {
        for (int row = 0; row < 3 && held.valid(); ++row) std::cout << "row " << row << '\n';
        if (held.release() == holdfast::release_outcome::already_lost) std::cout << "it took too long\n";
    } else {
        std::cout << "somebody else has it\n";
    }
} catch (const holdfast::error& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
//]
