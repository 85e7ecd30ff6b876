#include "cli/run/guard.hpp"

#include "cli/output/exit_codes.hpp"
#include "cli/process/descendants.hpp"
#include "cli/process/unique_fd.hpp"
#include "cli/process/wake_fds.hpp"
#include "cli/run/guard_plan.hpp"
#include "cli/run/sweeps.hpp"
#include "cli/run/unsent_reports.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <exception>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace holdfast::cli {

namespace {

constexpr std::string_view title_begin = "holdfast: guard of ";
constexpr std::string_view title_end = ", ends the command if the lock is lost: pid";

constexpr std::chrono::seconds between_reaps{1};

// After construction nothing allocates.
class guard_process {
  public:
    explicit guard_process(pid_t command) : command_(command) {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
        sigset_t child;
        ::sigemptyset(&child);
        ::sigaddset(&child, SIGCHLD);
        children_ = unique_fd{::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK)};
        if (!children_) throw std::system_error(errno, std::generic_category(), "signalfd");
    }

    int run() noexcept {
        std::array<pollfd, 3> all{pollfd{guard_link_fd, POLLIN, 0}, pollfd{children_.get(), POLLIN, 0},
                                  pollfd{alarm_.fd(), POLLIN, 0}};
        read_orders(all[0], boot_clock::now());  // the first is there
        [[maybe_unused]] const auto n = ::write(guard_ready_fd, "!", 1);
        ::close(guard_ready_fd);
        // run may be suspended, or slow to read: it gets the reports as soon as it reads.
        while (!over_ || !unsent_.empty()) {
            all[0].events = static_cast<short>(POLLIN | (link_is_full_ ? POLLOUT : 0));
            ::poll(all.data(), all.size(), longest_wait_ms());
            alarm_.clear();
            drain_signals();
            // Read the clock first and the orders last. We may have been suspended between any two of these
            // lines, and a deadline counts only if no order that was sent before it has moved it. Report the
            // end of the command before anything that the orders cause.
            const auto now = boot_clock::now();
            check_children(now);
            read_orders(all[0], now);
            feed(noticed{}, now);
            reap_now_and_then();
            if (ended_ && !over_ && plan_.ends_the_command() && nothing_is_left()) feed(nobody_left{}, now);
            send_unsent();
        }
        reap_all();
        return exit_code::ok;
    }

  private:
    void drain_signals() noexcept {
        signalfd_siginfo about{};
        while (::read(children_.get(), &about, sizeof about) > 0) some_ended_ = true;
    }

    // After the command's own end waitid() shows only the command. So dead descendants are looked for in
    // /proc, but not each time that one ends. Sweeps reap by themselves.
    void reap_now_and_then() noexcept {
        if (!ended_ || over_ || !some_ended_ || plan_.kills()) return;
        const auto now = boot_clock::now();
        if (now < reap_at_) return alarm_.set(std::min(look_again_, reap_at_));
        found_.reap(command_);
        some_ended_ = false;
        reap_at_ = now + between_reaps;
    }

    [[nodiscard]] int longest_wait_ms() const noexcept {
        constexpr int until_there_is_memory_ms = 100;
        if (more_children_) return 0;
        return unsent_.empty() || link_is_full_ ? -1 : until_there_is_memory_ms;
    }

    // The command stays a zombie until the guard exits, so that its pid cannot become another process's while
    // run may send signals to it. Processes that it left behind may end faster than they can be reaped: that
    // must not keep us from the deadlines.
    void check_children(boot_clock::time_point now) noexcept {
        constexpr int at_a_time = 256;
        siginfo_t about{};
        more_children_ = false;
        for (int i = 0; !ended_; ++i) {
            if (i == at_a_time) {
                more_children_ = true;
                return;
            }
            about = {};
            if (::waitid(P_PID, static_cast<id_t>(command_), &about, WSTOPPED | WNOHANG) == 0 &&
                about.si_pid == command_) {
                report({.what = guard_report::kind::stopped, .by_signal = about.si_status});
                continue;
            }
            about = {};
            if (::waitid(P_ALL, 0, &about, WEXITED | WNOHANG | WNOWAIT) != 0 || about.si_pid == 0) return;
            if (about.si_pid == command_) {
                ended_ = true;
                reap_at_ = boot_clock::now() + between_reaps;  // wait for run's next order
                const bool exited = about.si_code == CLD_EXITED;
                report({.what = guard_report::kind::ended,
                        .status = exited ? about.si_status : 0,
                        .by_signal = exited ? 0 : about.si_status,
                        .at = boot_clock::now()});
                feed(command_ended{}, now);
            } else {
                ::waitpid(about.si_pid, nullptr, 0);
            }
        }
    }

    // Only the last order counts: if the guard is late, an older deadline may be over that a newer order has
    // moved.
    void read_orders(pollfd& link, boot_clock::time_point now) noexcept {
        if (link.fd < 0) return;
        std::optional<guard_order> last;
        guard_order order;
        auto got = receive(link.fd, order);
        for (; got == received::message; got = receive(link.fd, order)) last = order;
        if (last) {
            if (last->what == guard_order::task::kill && !std::exchange(reported_kills_, true))
                report({.what = guard_report::kind::kills});
            feed(ordered{*last}, now);
        }
        if (got != received::closed) return;
        link.fd = -1;
        unsent_.drop_all();
        feed(link_broken{}, now);
    }

    void feed(const guard_event& what, boot_clock::time_point now) noexcept {
        using signal = guard_action::signal;
        auto action = plan_.resume(what, now);
        switch (action.send) {
            case signal::none: break;
            case signal::term:
                ::kill(-command_, SIGTERM);
                ::kill(-command_, SIGCONT);  // a stopped process does not see TERM
                [[fallthrough]];
            case signal::term_others: found_.term(command_, action.kill_at); break;
            case signal::kill:
                ::kill(-command_, SIGKILL);
                sweep();
                action.look_again = std::max(action.look_again, boot_clock::now() + sweeps_.pause());
                break;
        }
        if (action.report_that_it_ends)
            report({.what = guard_report::kind::began_to_end, .at = boot_clock::now()});
        if (action.report_that_none_is_left) {
            // A group of zombies that has the terminal looks to run like one that is alive.
            found_.reap(command_);
            report({.what = guard_report::kind::nothing_left,
                    .count = sweeps_.refused(),
                    .seen = found_.seen()});
        }
        if (action.exit) {
            report({.what = guard_report::kind::left_alone, .count = found_.count()});
            over_ = true;
        }
        look_again_ = action.look_again;
        alarm_.set(look_again_);
    }

    void sweep() noexcept {
        sweeps_.add(found_.kill(command_));
        if (!sweeps_.get_nowhere() || std::exchange(reported_cannot_end_, true)) return;
        report({.what = guard_report::kind::cannot_end,
                .status = sweeps_.signalled(),
                .count = sweeps_.refused()});
    }

    // While the guard kills, processes that it may not kill do not count.
    [[nodiscard]] bool nothing_is_left() const noexcept {
        return !descendants::any_is_alive() || (plan_.kills() && sweeps_.nothing_left());
    }

    void report(const guard_report& what) noexcept {
        unsent_.add(what);
        send_unsent();
    }
    void send_unsent() noexcept {
        link_is_full_ = false;
        while (!unsent_.empty()) {
            const auto& next = unsent_.first();
            if (::send(guard_link_fd, &next, sizeof next, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
                unsent_.drop_first();
            } else if (errno == EPIPE || errno == ECONNRESET) {
                unsent_.drop_all();  // nobody will read them
            } else if (errno != EINTR) {
                link_is_full_ = errno == EAGAIN;
                return;
            }
        }
    }
    static void reap_all() noexcept {
        while (::waitpid(-1, nullptr, WNOHANG) > 0) {
        }
    }

    const pid_t command_;
    unique_fd children_;
    wake_timer alarm_;
    descendants found_;
    guard_plan plan_;
    sweeps sweeps_;
    unsent_reports unsent_;
    boot_clock::time_point look_again_ = boot_clock::time_point::max();
    boot_clock::time_point reap_at_{};
    bool some_ended_ = false;  // children that may not be reaped yet
    bool link_is_full_ = false;
    bool more_children_ = false;
    bool reported_kills_ = false;
    bool reported_cannot_end_ = false;
    bool ended_ = false;
    bool over_ = false;
};

// On a busy machine an ordinary process may get no processor for longer than the time that is kept between
// KILL and the end of the lease. Refused to users without CAP_SYS_NICE and RLIMIT_RTPRIO.
// Under `chrt` the command has a real-time priority, too, and the guard keeps what it inherits.
void ask_for_priority() noexcept {
    if (const int policy = ::sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
        policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_DEADLINE)
        return;
    const sched_param lowest_of_real_time{.sched_priority = 1};
    ::sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest_of_real_time);
}

}  // namespace

std::string guard_title(const std::string& lock_names) {
    return std::string{title_begin} + lock_names + std::string{title_end};
}

std::optional<pid_t> command_to_guard(const std::vector<std::string>& words) {
    if (words.size() != 2 || !words.front().starts_with(title_begin) || !words.front().ends_with(title_end))
        return std::nullopt;
    const auto& number = words.back();
    pid_t pid = 0;
    const auto [end, ec] = std::from_chars(number.data(), number.data() + number.size(), pid);
    if (ec != std::errc{} || end != number.data() + number.size() || pid <= 1) return std::nullopt;
    return pid;
}

int guard(pid_t command) {
    // The name that `ps -e` and killall use: a user who kills all processes named holdfast must not kill the
    // guards, too, and leave the commands behind.
    ::prctl(PR_SET_NAME, "lock-guard");
    ask_for_priority();
    // A reader at the other end of an inherited pipe must not wait for the guard.
    ::syscall(SYS_close_range, guard_ready_fd + 1, ~0U, 0);
    try {
        return guard_process{command}.run();
    } catch (const std::exception&) {
        return exit_code::internal;  // before the guard was ready, so the command does not begin
    }
}

}  // namespace holdfast::cli
