#include "cli/process/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace holdfast::cli {

namespace {

constexpr std::array caught{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP};

bool ignored(int signal) {
    struct sigaction now {};
    return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

void set_disposition(int signal, void (*disposition)(int), struct sigaction* before) {
    struct sigaction wanted {};
    wanted.sa_handler = disposition;
    ::sigaction(signal, &wanted, before);
}

}  // namespace

signal_inbox::signal_inbox() {
    sigset_t mine;
    ::sigemptyset(&mine);
    for (const int signal : caught) {
        if (!ignored(signal)) ::sigaddset(&mine, signal);
    }
    ::sigaddset(&mine, SIGCONT);
    ::sigaddset(&mine, SIGCHLD);
    // If our parent had ignored CHLD, the kernel would reap the command before we could ask how it ended.
    set_disposition(SIGCHLD, SIG_DFL, &child_before_);
    set_disposition(SIGPIPE, SIG_IGN, &pipe_before_);

    sigset_t blocked = mine;
    ::sigaddset(&blocked, SIGTTOU);  // lets us give the terminal away while we are in the background
    ::pthread_sigmask(SIG_BLOCK, &blocked, &mask_before_);
    fd_ = unique_fd{::signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK)};
    if (!fd_) throw std::system_error(errno, std::generic_category(), "signalfd");
}

std::optional<int> signal_inbox::next() noexcept {
    signalfd_siginfo about{};
    if (::read(fd_.get(), &about, sizeof about) != static_cast<ssize_t>(sizeof about)) return std::nullopt;
    return static_cast<int>(about.ssi_signo);
}

void signal_inbox::stop_this_process() noexcept {
    ::raise(SIGTSTP);
    let_stop();
}

bool signal_inbox::stop_this_job() noexcept {
    ::kill(0, SIGTSTP);  // discards any pending CONT
    let_stop();
    sigset_t pending;
    return ::sigpending(&pending) == 0 && ::sigismember(&pending, SIGCONT) == 1;
}

// TSTP is blocked and pending until this unblocks it.
void signal_inbox::let_stop() noexcept {
    sigset_t stop;
    ::sigemptyset(&stop);
    ::sigaddset(&stop, SIGTSTP);
    ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
    ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
}

void signal_inbox::restore() const noexcept {
    ::sigaction(SIGCHLD, &child_before_, nullptr);
    ::sigaction(SIGPIPE, &pipe_before_, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

std::string signal_text(int signal) {
    const char* const name = ::sigabbrev_np(signal);
    return name != nullptr ? name : std::to_string(signal);
}

}  // namespace holdfast::cli
