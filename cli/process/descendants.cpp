#include "cli/process/descendants.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>

namespace holdfast::cli {

namespace {

// Linux's limit for pids. The set is in .bss: it takes no memory before the first scan.
constexpr std::size_t most_pids = std::size_t{1} << 22;
std::bitset<most_pids> known;  // this process, and the descendants found so far

struct process {
    char state = '?';
    pid_t parent = 0;
    pid_t group = 0;
    int threads = 0;
    std::uint64_t started = 0;  // in the kernel's ticks
    // If only the main thread has ended, the state is that of a zombie, too.
    [[nodiscard]] bool alive() const noexcept { return (state != 'Z' && state != 'X') || threads > 1; }
};

template <class Number = pid_t>
Number number_at(std::string_view& text) noexcept {
    Number value = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (ec != std::errc{}) return 0;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty()) text.remove_prefix(1);
    return value;
}

// Skips `count` fields; false if there are fewer.
bool skip(std::string_view& text, int count) noexcept {
    for (int i = 0; i < count; ++i) {
        const auto space = text.find(' ');
        if (space == std::string_view::npos) return false;
        text.remove_prefix(space + 1);
    }
    return true;
}

// The error means that there is no such process, or none that we may see.
bool means_no_process(int error) noexcept {
    return error == ENOENT || error == ESRCH || error == EACCES || error == EPERM;
}

// Sets `could_look` to false if there may be such a process all the same.
std::optional<process> look_at(int proc, pid_t pid, spare_descriptors& spare, bool& could_look) noexcept {
    std::array<char, 32> path{};
    const auto [end, ec] = std::to_chars(path.data(), path.data() + path.size() - 6, pid);
    if (ec != std::errc{}) return std::nullopt;
    std::memcpy(end, "/stat", 6);
    unique_fd file{::openat(proc, path.data(), O_RDONLY | O_CLOEXEC)};
    if (!file && (errno == EMFILE || errno == ENFILE) && spare.give_one())
        file = unique_fd{::openat(proc, path.data(), O_RDONLY | O_CLOEXEC)};
    if (!file) {
        could_look = could_look && means_no_process(errno);
        return std::nullopt;
    }
    std::array<char, 1024> text{};
    const auto n = ::read(file.get(), text.data(), text.size());
    if (n < 0) could_look = could_look && means_no_process(errno);
    if (n <= 0) return std::nullopt;
    std::string_view line{text.data(), static_cast<std::size_t>(n)};
    // The name of the program is in parentheses and may contain any character.
    const auto name_end = line.rfind(')');
    if (name_end == std::string_view::npos || line.size() < name_end + 5) return std::nullopt;
    process found;
    found.state = line[name_end + 2];
    line.remove_prefix(name_end + 4);
    found.parent = number_at(line);
    found.group = number_at(line);
    // See proc(5).
    constexpr int between_group_and_threads = 14;
    if (!skip(line, between_group_and_threads)) return std::nullopt;
    found.threads = number_at(line);
    constexpr int between_threads_and_start = 1;
    if (!skip(line, between_threads_and_start)) return std::nullopt;
    found.started = number_at<std::uint64_t>(line);
    return found;
}

// The kernel's layout; glibc has a name for it only where it declares getdents64().
struct directory_entry {
    std::uint64_t inode;
    std::int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[1];
};

// Mixes the bits, so that the sums of different sets differ.
std::uint64_t mixed(std::uint64_t value) noexcept {
    value = (value ^ value >> 30U) * 0xbf58476d1ce4e5b9U;
    value = (value ^ value >> 27U) * 0x94d049bb133111ebU;
    return value ^ value >> 31U;
}

bool send_signal(int pidfd, pid_t pid, int signal) noexcept {
    if (pidfd >= 0) return ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0;
    return ::kill(pid, signal) == 0;
}

// A killed process needs the processor to be gone, and on a busy machine waits for it. It runs no code of its
// own meanwhile. Only for a child of ours, whose pid stays its own until we reap it. Refused to most users.
void let_it_end_first(pid_t child) noexcept {
    const sched_param lowest_of_real_time{.sched_priority = 1};
    ::sched_setscheduler(child, SCHED_RR, &lowest_of_real_time);
}

// False if /proc is of another pid namespace: its pids are not those of the processes that we could signal.
bool is_of_our_namespace(int proc) noexcept {
    std::array<char, 16> self{};
    const auto n = ::readlinkat(proc, "self", self.data(), self.size());
    if (n <= 0) return false;
    std::string_view text{self.data(), static_cast<std::size_t>(n)};
    return number_at(text) == ::getpid();
}

}  // namespace

void spare_descriptors::fill() noexcept {
    for (auto& one : kept_) {
        if (!one) one = unique_fd{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    }
}

bool spare_descriptors::give_one() noexcept {
    const auto one = std::ranges::find_if(kept_, [](const unique_fd& fd) { return static_cast<bool>(fd); });
    if (one == kept_.end()) return false;
    one->reset();
    return true;
}

descendants::descendants() : proc_(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    bool could_look = proc_ || means_no_process(errno) || errno == ENOTDIR;
    if (proc_ && !is_of_our_namespace(proc_.get())) proc_.reset();
    if (proc_) seen_ = look_at(proc_.get(), 1, spare_, could_look) ? sight::whole : sight::own;
    if (!could_look) throw std::system_error(errno, std::generic_category(), "/proc");
    if (proc_) spare_.fill();
}

bool descendants::begin_with(pid_t first) noexcept {
    bool could_look = true;
    const auto about = proc_ ? look_at(proc_.get(), first, spare_, could_look) : std::nullopt;
    if (about) {
        first_ = first;
        since_ = about->started;
    }
    return about.has_value();
}

bool descendants::has_ended(pid_t process) noexcept {
    bool could_look = true;
    const auto about = proc_ ? look_at(proc_.get(), process, spare_, could_look) : std::nullopt;
    return about && !about->alive();
}

bool descendants::is_older_group(pid_t group) noexcept {
    if (first_ == 0) return false;
    if (group == ::getpgrp()) return true;
    bool could_look = true;
    const auto leader = look_at(proc_.get(), group, spare_, could_look);
    return leader && leader->started < since_;
}

void descendants::forget() noexcept {
    known.reset();
    known.set(static_cast<std::size_t>(::getpid()));
}

// Pids come in ascending order, and a child's pid is nearly always larger than its parent's, so one scan
// finds nearly all. If the pids wrapped around in between, the next scan, which knows the parent, finds the
// child.
template <class Act>
descendants::scanned descendants::scan(boot_clock::time_point until, Act&& act) noexcept {
    if (!proc_) return {};
    scanned result{.complete = false};
    if (::lseek(proc_.get(), 0, SEEK_SET) != 0) return result;
    bool could_look = true;
    const pid_t self = ::getpid();
    alignas(directory_entry) std::array<char, 8192> entries{};
    while (boot_clock::now() < until) {
        const auto n = ::syscall(SYS_getdents64, proc_.get(), entries.data(), entries.size());
        if (n <= 0) {
            result.complete = n == 0 && could_look;
            return result;
        }
        for (long at = 0; at < n;) {
            const auto* const entry = reinterpret_cast<const directory_entry*>(entries.data() + at);
            at += entry->length;
            std::string_view name{static_cast<const char*>(entry->name)};
            const pid_t pid = number_at(name);
            if (pid <= 0 || static_cast<std::size_t>(pid) >= most_pids ||
                known[static_cast<std::size_t>(pid)])
                continue;
            const auto is_new = [&](const process& p) {
                return p.started > since_ || (p.started == since_ && pid >= first_);
            };
            const auto is_ours = [&](const std::optional<process>& p) {
                return p && p->alive() && p->parent > 0 && static_cast<std::size_t>(p->parent) < most_pids &&
                       known[static_cast<std::size_t>(p->parent)] && is_new(*p);
            };
            spare_.fill();
            const auto first = look_at(proc_.get(), pid, spare_, could_look);
            const bool may_reap =
                unreaped_.front() != 0 && std::ranges::find(unreaped_, pid) == unreaped_.end();
            if (may_reap && first && first->state == 'Z' && first->parent == self && is_new(*first))
                result.reaped += ::waitpid(pid, nullptr, WNOHANG) == pid ? 1 : 0;
            if (!is_ours(first)) continue;
            // Its pid may have become another process's since. The pidfd stands for one process for good, so
            // look again whether that one is ours.
            const unique_fd pidfd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
            const auto now = look_at(proc_.get(), pid, spare_, could_look);
            if (!is_ours(now) || is_older_group(now->group)) continue;
            known.set(static_cast<std::size_t>(pid));
            ++result.found;
            act(pidfd.get(), pid, *now);
        }
    }
    return result;
}

int descendants::count() noexcept {
    constexpr std::chrono::milliseconds long_enough{500};
    const auto until = boot_clock::now() + long_enough;
    forget();
    int all = 0;
    for (int more = 1; more > 0 && boot_clock::now() < until; all += more)
        more = scan(until, [](int, pid_t, const auto&) {}).found;
    return all;
}

void descendants::term(pid_t outside_of_group, boot_clock::time_point until) noexcept {
    forget();
    const auto end = [&](int pidfd, pid_t pid, const auto& about) {
        if (about.group == outside_of_group) return;
        send_signal(pidfd, pid, SIGTERM);
        send_signal(pidfd, pid, SIGCONT);
    };
    // Neither orders nor the command's own end are noticed meanwhile, so there is little time for processes
    // that the first scan missed.
    constexpr std::chrono::milliseconds long_enough{100};
    int found = scan(until, end).found;
    const auto stop_at = std::min(until, boot_clock::now() + long_enough);
    while (found > 0 && boot_clock::now() < stop_at) found = scan(stop_at, end).found;
}

void descendants::reap(pid_t unreaped, pid_t another) noexcept {
    forget();
    unreaped_ = {unreaped, another};
    scan(boot_clock::time_point::max(), [](int, pid_t, const auto&) {});
    unreaped_ = {};
}

descendants::reached descendants::kill(pid_t unreaped) noexcept {
    forget();
    reached all;
    unreaped_ = {unreaped, 0};
    // Scans again for the children of those that were found, but not for long: orders are not read meanwhile.
    constexpr std::chrono::milliseconds long_enough{100};
    const auto stop_at = boot_clock::now() + long_enough;
    scanned last;
    do {
        last = scan(boot_clock::time_point::max(), [&](int pidfd, pid_t pid, const auto& about) {
            if (send_signal(pidfd, pid, SIGKILL)) {
                ++all.signalled;
                if (about.parent == ::getpid()) let_it_end_first(pid);
            } else if (errno == EPERM) {
                ++all.refused;
            }
            all.who += mixed(about.started << 22U | static_cast<std::uint64_t>(pid));
        });
        all.reaped += last.reaped;
    } while (last.found > 0 && boot_clock::now() < stop_at);
    all.complete = last.complete;
    unreaped_ = {};
    return all;
}

bool descendants::any_is_alive() noexcept {
    siginfo_t about{};
    // Without WEXITED, waitid() ignores zombies, except one whose other threads still run.
    constexpr int alive = WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT | __WALL;
    return ::waitid(P_ALL, 0, &about, alive) == 0 || errno != ECHILD;
}

}  // namespace holdfast::cli
