#include "support/forked.hpp"

#include <csignal>
#include <stdexcept>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::test {

namespace {

void limit_lifetime() {
    std::signal(SIGALRM, SIG_DFL);
    ::alarm(60);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

}  // namespace

int in_forked_child(const std::function<int()>& in_child) {
    const pid_t pid = ::fork();
    if (pid < 0) throw std::runtime_error{"fork() has failed"};
    if (pid == 0) {
        limit_lifetime();
        int code = 99;
        try {
            code = in_child();
        } catch (...) {
        }
        ::_exit(code);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace holdfast::test
