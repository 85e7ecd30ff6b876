#include "io/thread.hpp"

#include <pthread.h>
#include <signal.h>
#include <thread>
#include <utility>

namespace holdfast::io {

namespace {

// A new thread inherits the mask, so no signal reaches it even in its first instant.
class signals_blocked {
  public:
    signals_blocked() {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    signals_blocked(const signals_blocked&) = delete;
    signals_blocked& operator=(const signals_blocked&) = delete;
    ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  private:
    sigset_t before_;
};

}  // namespace

void start_thread(const char* name, callback<void()> body) {
    const signals_blocked meanwhile;
    std::thread{[name, body = std::move(body)] {
        ::pthread_setname_np(::pthread_self(), name);
        body();
    }}.detach();
}

}  // namespace holdfast::io
