// holdfast: locks between processes and machines, for the shell.
#include "cli/program.hpp"
#include "cli/run/guard.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace {

// A descriptor that we open must not get the number of a standard stream that our parent has closed: the
// command would write its output into it. The placeholder is closed for the command. For stdout it is
// read-only: a write to a closed stdout must fail, as it did before.
void occupy_standard_streams() {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
        if (::fcntl(fd, F_GETFD) < 0) {
            const int mode = fd == STDOUT_FILENO ? O_RDONLY : O_RDWR;
            [[maybe_unused]] const int opened = ::open("/dev/null", mode | O_CLOEXEC);
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    occupy_standard_streams();
    if (const auto command = holdfast::cli::command_to_guard({argv, argv + argc}))
        return holdfast::cli::guard(*command);
    return holdfast::cli::run_program({argv + std::min(argc, 1), argv + argc});
}
