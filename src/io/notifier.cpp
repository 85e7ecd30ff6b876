#include "io/notifier.hpp"

#include "io/reactor.hpp"

#include <pthread.h>
#include <signal.h>
#include <utility>

namespace holdfast::io {

notifier::notifier(reactor& timers, std::chrono::milliseconds slow_after, std::function<void()> on_slow)
    : timers_(timers), slow_after_(slow_after), on_slow_(std::move(on_slow)) {}

void notifier::stop() {
    if (abandoned_) return;
    base::guard lock(state_->mutex);
    state_->stopping = true;
    state_->changed.notify_all();
    const std::chrono::seconds enough{1};
    while (state_->threads > 0 &&
           state_->changed.wait_for(state_->mutex, enough) != std::cv_status::timeout) {
    }
}

bool notifier::post(call c) {
    std::uint64_t ended = 0;
    bool look = false;
    {
        base::guard lock(state_->mutex);
        if (state_->stopping || state_->queue.size() >= most_queued) return false;
        state_->queue.push_back(std::move(c));
        if (state_->threads == 0) start_thread(state_);
        state_->changed.notify_one();
        look = !std::exchange(state_->looking, true);
        ended = state_->calls_ended;
    }
    if (look) look_later(ended);
    return true;
}

// While calls run somebody must notice one that does not end; while none run nobody wakes.
void notifier::look_later(std::uint64_t ended_then) {
    timers_.at(boot_clock::now() + slow_after_, [this, ended_then, s = state_] {
        bool slow = false;
        std::uint64_t ended = 0;
        {
            base::guard lock(s->mutex);
            if (s->stopping || (s->busy == 0 && s->queue.empty())) {
                s->looking = false;
                return;
            }
            ended = s->calls_ended;
            slow = s->busy > 0 && ended == ended_then;
            if (slow && s->threads < most_threads && !s->queue.empty()) start_thread(s);
        }
        if (slow) on_slow_();
        look_later(ended);
    });
}

void notifier::start_thread(const std::shared_ptr<shared_state>& s) {
    ++s->threads;
    // Signals are for the program's own threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread thread([s] { run(s); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread.native_handle(), "holdfast-notify");
    thread.detach();
}

void notifier::run(const std::shared_ptr<shared_state>& s) {
    base::guard lock(s->mutex);
    for (;;) {
        while (s->queue.empty() && !s->stopping) s->changed.wait(s->mutex);
        if (s->queue.empty()) break;
        auto next = std::move(s->queue.front());
        s->queue.pop_front();
        ++s->busy;
        lock.unlock();
        try {
            next();
        } catch (...) {
            // A callback that throws has nobody to tell; event.hpp says so.
        }
        next = nullptr;
        lock.lock();
        --s->busy;
        ++s->calls_ended;
    }
    --s->threads;
    s->changed.notify_all();
}

}  // namespace holdfast::io
