#include "session/held_lease.hpp"

#include <pthread.h>
#include <optional>

namespace holdfast::session {

namespace {

std::uint64_t next_serial() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

// The mark of the calling thread. A plain pointer is usable at any time: objects with a destructor are gone
// while the last destructors of thread_local and static objects run, and those may lock too.
thread_local std::shared_ptr<thread_mark>* mine = nullptr;

// Runs after the destructors of thread_local objects. If the system calls other such functions of the thread
// later, and one of them locks, the thread gets a new mark and this runs again.
void thread_ends(void* mark) noexcept {
    const std::unique_ptr<std::shared_ptr<thread_mark>> ended(
        static_cast<std::shared_ptr<thread_mark>*>(mark));
    mine = nullptr;
    (*ended)->alive.store(false, std::memory_order_release);
}

// Empty if the process has too many keys: then a thread that ends while it holds a lock is not noticed.
std::optional<pthread_key_t> make_key() noexcept {
    pthread_key_t key{};
    return ::pthread_key_create(&key, &thread_ends) == 0 ? std::optional{key} : std::nullopt;
}

}  // namespace

const std::shared_ptr<thread_mark>& this_thread() {
    static const auto at_end = make_key();
    if (mine == nullptr) {
        mine = new std::shared_ptr<thread_mark>(std::make_shared<thread_mark>(next_serial()));
        if (at_end) ::pthread_setspecific(*at_end, mine);
    }
    return *mine;
}

}  // namespace holdfast::session
