#include "cli/descendants.hpp"

#include <fcntl.h>
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

namespace holdfast::cli {

namespace {

// The largest pid that Linux can be told to use. In .bss: no memory before the first scan.
constexpr std::size_t most_pids = std::size_t{1} << 22;
std::bitset<most_pids> known;  // this process, and what was found

struct process {
    char state = '?';
    pid_t parent = 0;
    pid_t group = 0;
    int threads = 0;
    std::uint64_t started = 0;  // in the kernel's ticks
    // Where only the main thread has ended, the state is that of a zombie, too.
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

// Leaves out as many fields; false if there are fewer.
bool skip(std::string_view& text, int fields) noexcept {
    for (int i = 0; i < fields; ++i) {
        const auto space = text.find(' ');
        if (space == std::string_view::npos) return false;
        text.remove_prefix(space + 1);
    }
    return true;
}

std::optional<process> look_at(int proc, pid_t pid) noexcept {
    std::array<char, 32> path{};
    const auto [end, ec] = std::to_chars(path.data(), path.data() + path.size() - 6, pid);
    if (ec != std::errc{}) return std::nullopt;
    std::memcpy(end, "/stat", 6);
    const unique_fd file{::openat(proc, path.data(), O_RDONLY | O_CLOEXEC)};
    if (!file) return std::nullopt;
    std::array<char, 1024> text{};
    const auto n = ::read(file.get(), text.data(), text.size());
    if (n <= 0) return std::nullopt;
    std::string_view line{text.data(), static_cast<std::size_t>(n)};
    // The name of the program stands in parentheses and may contain any character.
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

// As the kernel lays it out; glibc names it only where getdents64() is declared.
struct directory_entry {
    std::uint64_t inode;
    std::int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[1];
};

bool send_signal(int pidfd, pid_t pid, int signal) noexcept {
    if (pidfd >= 0) return ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0;
    return ::kill(pid, signal) == 0;
}

// In a foreign pid namespace the numbers in /proc are not ours to send signals to.
bool speaks_of_us(int proc) noexcept {
    std::array<char, 16> self{};
    const auto n = ::readlinkat(proc, "self", self.data(), self.size());
    if (n <= 0) return false;
    std::string_view text{self.data(), static_cast<std::size_t>(n)};
    return number_at(text) == ::getpid();
}

}  // namespace

descendants::descendants() : proc_(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (proc_ && !speaks_of_us(proc_.get())) proc_.reset();
    if (proc_) seen_ = look_at(proc_.get(), 1) ? sight::whole : sight::own;
}

bool descendants::begin_with(pid_t first) noexcept {
    const auto about = proc_ ? look_at(proc_.get(), first) : std::nullopt;
    if (about) {
        first_ = first;
        since_ = about->started;
    }
    return about.has_value();
}

void descendants::forget() noexcept {
    known.reset();
    known.set(static_cast<std::size_t>(::getpid()));
}

// Pids come in ascending order, and nearly always a child's is larger than its parent's, so one scan finds
// them all. One that it misses is found by the next: when its parent has ended, its parent is this process.
template <class Act>
int descendants::scan(boot_clock::time_point until, Act&& act) noexcept {
    if (!proc_ || ::lseek(proc_.get(), 0, SEEK_SET) != 0) return 0;
    const pid_t self = ::getpid();
    int found = 0;
    alignas(directory_entry) std::array<char, 8192> entries{};
    while (boot_clock::now() < until) {
        const auto n = ::syscall(SYS_getdents64, proc_.get(), entries.data(), entries.size());
        if (n <= 0) return found;
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
            const auto first = look_at(proc_.get(), pid);
            if (unreaped_ != 0 && pid != unreaped_ && first && first->state == 'Z' && first->parent == self &&
                is_new(*first))
                ::waitpid(pid, nullptr, WNOHANG);
            if (!is_ours(first)) continue;
            // Its number may have become another's since: the descriptor names one process for good, and is
            // believed if that one is ours.
            const unique_fd pidfd{static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))};
            const auto now = look_at(proc_.get(), pid);
            if (!is_ours(now)) continue;
            known.set(static_cast<std::size_t>(pid));
            ++found;
            act(pidfd.get(), pid, now->group);
        }
    }
    return found;
}

int descendants::count() noexcept {
    constexpr std::chrono::milliseconds long_enough{500};
    const auto until = boot_clock::now() + long_enough;
    forget();
    int all = 0;
    for (int more = 1; more > 0 && boot_clock::now() < until; all += more)
        more = scan(until, [](int, pid_t, pid_t) {});
    return all;
}

void descendants::term(pid_t outside_of_group, boot_clock::time_point until) noexcept {
    forget();
    const auto end = [&](int pidfd, pid_t pid, pid_t group) {
        if (group == outside_of_group) return;
        send_signal(pidfd, pid, SIGTERM);
        send_signal(pidfd, pid, SIGCONT);
    };
    // Orders and the command's own end are not heard meanwhile: those that the first look missed get little
    // time.
    constexpr std::chrono::milliseconds long_enough{100};
    int found = scan(until, end);
    const auto stop_at = std::min(until, boot_clock::now() + long_enough);
    while (found > 0 && boot_clock::now() < stop_at) found = scan(stop_at, end);
}

descendants::reached descendants::kill(pid_t unreaped) noexcept {
    forget();
    reached all;
    unreaped_ = unreaped;
    scan(boot_clock::time_point::max(), [&](int pidfd, pid_t pid, pid_t) {
        if (send_signal(pidfd, pid, SIGKILL)) {
            ++all.signalled;
        } else if (errno == EPERM) {
            ++all.refused;
        }
    });
    unreaped_ = 0;
    return all;
}

}  // namespace holdfast::cli
