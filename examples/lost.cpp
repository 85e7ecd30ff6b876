// How a program learns that a lease was lost, and receives the events of locks.
#include <holdfast/holdfast.hpp>

#include <atomic>
#include <iostream>
#include <stop_token>

int main(int argc, char** argv) try {
    using namespace std::chrono_literals;
    holdfast::client locks{argc > 1 ? argv[1] : "redis://127.0.0.1:6379"};

    //[events
    const auto listening = locks.on_event([](const holdfast::event& e) {
        std::cout << to_string(e.kind) << ' ' << e.lock << ' ' << e.detail << '\n';
    });
    //]

    holdfast::mutex job{locks, "nightly"};
    //[lost
    holdfast::lease held = job.acquire({.ttl = 200ms});  // not renewed: it ends after 200 ms
    std::atomic<bool> abandoned = false;
    std::stop_callback tell{held.lost_token(), [&] { abandoned = true; }};  // runs on a thread of the client
    while (!abandoned) {
        if (!held.valid()) break;  // exact, and never later than the callback
    }
    //]
    return held.release() == holdfast::release_outcome::already_lost ? 0 : 1;
} catch (const holdfast::error& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
