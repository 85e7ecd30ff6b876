#include "backends/file/close_watch.hpp"

#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

namespace holdfast::file_backend {

namespace {

// An unlink changes the attributes, and is seen although the waiters have the file open.
constexpr std::uint32_t interesting = IN_CLOSE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_DONT_FOLLOW;

}  // namespace

close_watch::close_watch(io::reactor& on, handler on_change)
    : reactor_(on), on_change_(std::move(on_change)) {}

bool close_watch::add(const lock_name& name, const std::string& path, std::string& why) {
    const auto failed = [&why](const char* what) {
        why = std::string{what} + ": " + std::generic_category().message(errno);
        return false;
    };
    base::guard lock(mutex_);
    if (!inotify_) {
        base::owned_fd made{::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
        if (!made) return failed("inotify");
        reactor_.watch(made.get(), EPOLLIN, [this](std::uint32_t) { read(); });
        inotify_ = std::move(made);
    }
    auto& entry = names_[name];
    if (entry.number < 0) {
        entry.number = ::inotify_add_watch(inotify_.get(), path.c_str(), interesting);
        if (entry.number < 0) {
            const int error = errno;
            if (entry.users == 0) names_.erase(name);
            errno = error;
            return failed(path.c_str());
        }
        by_number_.emplace(entry.number, name);
    }
    ++entry.users;
    return true;
}

void close_watch::remove(const lock_name& name) {
    base::guard lock(mutex_);
    const auto it = names_.find(name);
    if (it == names_.end() || --it->second.users > 0) return;
    const int number = it->second.number;
    names_.erase(it);
    const auto [first, end] = by_number_.equal_range(number);
    for (auto one = first; one != end; ++one) {
        if (one->second != name) continue;
        by_number_.erase(one);
        break;
    }
    if (number >= 0 && !by_number_.contains(number)) ::inotify_rm_watch(inotify_.get(), number);
}

void close_watch::renew(const lock_name& name, const std::string& path) {
    base::guard lock(mutex_);
    const auto it = names_.find(name);
    if (it == names_.end()) return;
    const int number = ::inotify_add_watch(inotify_.get(), path.c_str(), interesting);
    if (number == it->second.number) return;
    const int before = std::exchange(it->second.number, number);
    const auto [first, end] = by_number_.equal_range(before);
    for (auto one = first; one != end; ++one) {
        if (one->second != name) continue;
        by_number_.erase(one);
        break;
    }
    if (before >= 0 && !by_number_.contains(before)) ::inotify_rm_watch(inotify_.get(), before);
    if (number >= 0) by_number_.emplace(number, name);
}

std::optional<io::time_point> close_watch::last_closed(const lock_name& name) const {
    base::guard lock(mutex_);
    const auto it = names_.find(name);
    return it == names_.end() ? std::nullopt : it->second.closed_at;
}

void close_watch::forget_number(int number) {
    const auto [first, end] = by_number_.equal_range(number);
    for (auto one = first; one != end; ++one)
        if (const auto it = names_.find(one->second); it != names_.end()) it->second.number = -1;
    by_number_.erase(first, end);
}

void close_watch::read() {
    std::map<lock_name, change> seen;
    {
        base::guard lock(mutex_);
        alignas(inotify_event) std::array<char, 4096> events{};
        for (;;) {
            const auto n = inotify_ ? ::read(inotify_.get(), events.data(), events.size()) : -1;
            if (n <= 0) break;
            const auto now = boot_clock::now();
            for (std::size_t at = 0; at < static_cast<std::size_t>(n);) {
                inotify_event one{};
                std::memcpy(&one, events.data() + at, sizeof one);
                at += sizeof one + one.len;
                if ((one.mask & IN_Q_OVERFLOW) != 0) {  // some events are lost
                    for (auto& [name, entry] : names_) seen.emplace(name, change::closed);
                    continue;
                }
                const bool closed = (one.mask & IN_CLOSE) != 0;
                const auto [first, end] = by_number_.equal_range(one.wd);
                for (auto it = first; it != end; ++it) {
                    auto& what = seen.try_emplace(it->second, change::closed).first->second;
                    if (!closed) what = change::replaced;
                    names_[it->second].closed_at = now;
                }
                if ((one.mask & IN_IGNORED) != 0) forget_number(one.wd);
            }
        }
    }
    for (const auto& [name, what] : seen) on_change_(name, what);
}

void close_watch::close() {
    {
        base::guard lock(mutex_);
        if (!inotify_) return;
        reactor_.unwatch(inotify_.get());
    }
    reactor_.run_and_wait([] {});  // read() has ended
    base::guard lock(mutex_);
    inotify_ = {};
    names_.clear();
    by_number_.clear();
}

}  // namespace holdfast::file_backend
