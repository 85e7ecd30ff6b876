#include "io/thread.hpp"

#include "base/signals_blocked.hpp"

#include <pthread.h>
#include <thread>
#include <utility>

namespace holdfast::io {

void start_thread(const char* name, callback<void()> body) {
    const base::signals_blocked meanwhile;
    std::thread{[name, body = std::move(body)] {
        ::pthread_setname_np(::pthread_self(), name);
        body();
    }}.detach();
}

}  // namespace holdfast::io
