#include "io/reactor.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <future>
#include <system_error>

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace holdfast::io {

namespace {

// Tags of the reactor's own two descriptors. Others have (generation << 32 | fd) with a generation above
// zero.
constexpr std::uint64_t wake_tag = 0;
constexpr std::uint64_t timer_tag = 1;

std::uint64_t tag_of(std::uint32_t generation, int fd) {
    return std::uint64_t{generation} << 32 | static_cast<std::uint32_t>(fd);
}

int checked(int fd, const char* what) {
    if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
    return fd;
}

void add(int epoll, int fd, std::uint64_t tag) {
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.u64 = tag;
    checked(::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e), "epoll_ctl");
}

void drain(int fd) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto n = ::read(fd, &count, sizeof count);
}

}  // namespace

reactor::reactor() {
    try {
        epoll_ = checked(::epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
        wake_ = checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd");
        timer_ = checked(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd_create");
        add(epoll_, wake_, wake_tag);
        add(epoll_, timer_, timer_tag);

        // The thread inherits the mask, so that no signal reaches it even in its first instant.
        sigset_t all, before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);
        try {
            base::guard hold{mutex_};  // run() reads thread_id_ only after it got this
            thread_ = std::make_unique<std::thread>([this] { run(); });
            thread_id_ = thread_->get_id();
        } catch (...) {
            ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
            throw;
        }
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    } catch (...) {
        for (const int fd : {timer_, wake_, epoll_})
            if (fd >= 0) ::close(fd);
        throw;
    }
}

reactor::~reactor() {
    if (abandoned_) {
        // The thread is not in this process: a join would hang and a detach would fail. Tasks may refer to
        // half-changed objects, so they are not destroyed either.
        for (const int fd : {timer_, wake_, epoll_}) ::close(fd);
        [[maybe_unused]] auto* leaked_thread = thread_.release();
        [[maybe_unused]] auto* leaked_tasks =
            new auto(std::make_tuple(std::move(posted_), std::move(timers_), std::move(watched_)));
        return;
    }
    {
        base::guard hold{mutex_};
        stopping_ = true;
    }
    wake();
    thread_->join();
    for (const int fd : {timer_, wake_, epoll_}) ::close(fd);
}

void reactor::wake() const noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto n = ::write(wake_, &one, sizeof one);
}

void reactor::post(task t) {
    bool first = false;
    {
        base::guard hold{mutex_};
        first = posted_.empty();
        posted_.push_back(std::move(t));
    }
    // The caller that made the list non-empty has woken the thread already, and the thread takes the whole
    // list. It looks itself before it sleeps.
    if (first && !in_thread()) wake();
}

void reactor::run_and_wait(task t) {
    if (in_thread()) return t();
    // Shared: the waiting caller may go on while the thread is still about to leave set_value().
    const auto done = std::make_shared<std::promise<void>>();
    auto over = done->get_future();
    post([&t, done] {
        t();
        done->set_value();
    });
    over.wait();
}

timer_id reactor::at(time_point when, task t) {
    base::guard hold{mutex_};
    const timer_id id{when, next_serial_++};
    timers_.emplace(std::pair{id.when, id.serial}, std::move(t));
    arm();
    return id;
}

bool reactor::cancel(const timer_id& id) {
    task dropped;  // destroyed after the mutex is free: its captures may call us
    base::guard hold{mutex_};
    const auto it = timers_.find({id.when, id.serial});
    if (it == timers_.end()) return false;
    dropped = std::move(it->second);
    timers_.erase(it);
    // The timerfd stays as it is: one early wake-up is cheaper than a system call for each cancel.
    hold.unlock();
    return true;
}

void reactor::arm() {
    if (timers_.empty()) return;
    const auto earliest = timers_.begin()->first.first;
    if (earliest >= armed_for_ || earliest == time_point::max()) return;
    armed_for_ = earliest;
    const auto ns = std::max<std::int64_t>(earliest.time_since_epoch().count(), 1);  // 0 would disarm
    itimerspec spec{};
    spec.it_value.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
    spec.it_value.tv_nsec = static_cast<long>(ns % 1'000'000'000);
    ::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &spec, nullptr);
}

void reactor::watch(int fd, std::uint32_t events, fd_handler h) {
    base::guard hold{mutex_};
    const std::uint32_t generation = next_generation_++;
    watched_[fd] = {generation, std::make_shared<fd_handler>(std::move(h))};
    epoll_event e{};
    e.events = events;
    e.data.u64 = tag_of(generation, fd);
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &e) != 0) ::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &e);
}

void reactor::modify(int fd, std::uint32_t events) {
    base::guard hold{mutex_};
    const auto it = watched_.find(fd);
    if (it == watched_.end()) return;
    epoll_event e{};
    e.events = events;
    e.data.u64 = tag_of(it->second.generation, fd);
    ::epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &e);
}

void reactor::unwatch(int fd) {
    std::shared_ptr<fd_handler> dropped;
    base::guard hold{mutex_};
    const auto it = watched_.find(fd);
    if (it == watched_.end()) return;
    dropped = std::move(it->second.handler);
    watched_.erase(it);
    ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
    hold.unlock();
}

void reactor::run() noexcept {
    ::pthread_setname_np(::pthread_self(), "holdfast");
    { base::guard hold{mutex_}; }  // thread_id_ is set

    std::array<epoll_event, 32> events;
    for (;;) {
        const int n =
            ::epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), has_posted() ? 0 : -1);
        for (int i = 0; i < n; ++i) {
            const auto tag = events[static_cast<std::size_t>(i)].data.u64;
            if (tag == wake_tag) {
                drain(wake_);
            } else if (tag == timer_tag) {
                drain(timer_);
                base::guard hold{mutex_};
                armed_for_ = time_point::max();
            } else {
                run_handler(tag, events[static_cast<std::size_t>(i)].events);
            }
        }
        {
            base::guard hold{mutex_};
            if (stopping_) return;
        }
        run_posted();
        run_due_timers();
    }
}

bool reactor::has_posted() {
    base::guard hold{mutex_};
    return !posted_.empty();
}

void reactor::run_handler(std::uint64_t tag, std::uint32_t events) {
    std::shared_ptr<fd_handler> handler;
    {
        base::guard hold{mutex_};
        const auto it = watched_.find(static_cast<int>(static_cast<std::uint32_t>(tag)));
        if (it == watched_.end() || it->second.generation != tag >> 32) return;
        handler = it->second.handler;
    }
    (*handler)(events);
}

void reactor::run_posted() {
    std::vector<task> batch;
    {
        base::guard hold{mutex_};
        batch.swap(posted_);
    }
    for (auto& t : batch) {
        t();
        t = nullptr;  // captures die in order, before the next task runs
    }
}

void reactor::run_due_timers() {
    // Only timers due now: one that sets itself again at once must not keep descriptors waiting.
    const auto now = boot_clock::now();
    for (;;) {
        task t;
        {
            base::guard hold{mutex_};
            if (timers_.empty() || timers_.begin()->first.first > now) {
                arm();
                return;
            }
            t = std::move(timers_.begin()->second);
            timers_.erase(timers_.begin());
        }
        t();
    }
}

}  // namespace holdfast::io
