// `holdfast run` on a terminal: job control, as a shell and its jobs expect it.
#include "server/cli_scene.hpp"
#include "support/send_signal.hpp"
#include "support/unique_fd.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <string>

namespace holdfast::test::cli {
namespace {

// A person at an interactive shell: types, and reads what the terminal shows.
class person {
  public:
    // Without job control the shell neither stops its jobs nor gives the terminal to anybody.
    enum class job_control { yes, no };
    explicit person(const std::string& url, job_control jobs = job_control::yes) {
        int master = -1;
        const pid_t parent = ::getpid();
        shell_ = ::forkpty(&master, nullptr, nullptr, nullptr);
        if (shell_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (::getppid() != parent) ::_exit(1);
            ::setenv("HOLDFAST_URL", url.c_str(), 1);
            ::setenv("HOLDFAST", HOLDFAST_COMMAND, 1);
            ::setenv("PS1", "", 1);
            if (jobs == job_control::no) ::execlp("sh", "sh", nullptr);
            // -m: job control. No prompt and no editing, so that only what is typed and printed is on the
            // screen.
            ::execlp("bash", "bash", "--norc", "--noprofile", "--noediting", "-i", nullptr);
            ::_exit(127);
        }
        terminal_.reset(master);
    }
    ~person() {
        send_signal(shell_, SIGKILL);
        terminal_.reset();  // hangs up: what runs in the foreground ends
        ::waitpid(shell_, nullptr, 0);
    }
    person(const person&) = delete;
    person& operator=(const person&) = delete;

    void types(std::string_view text) {
        ASSERT_EQ(::write(terminal_.get(), text.data(), text.size()), std::ssize(text));
    }
    void presses(char control) { types(std::string{static_cast<char>(control & 0x1f)}); }

    // True if the terminal shows `text` after what an earlier call has found.
    [[nodiscard]] bool sees(std::string_view text) {
        const auto deadline = std::chrono::steady_clock::now() + patience;
        while (true) {
            if (const auto at = screen_.find(text, read_); at != std::string::npos) {
                read_ = at + text.size();
                return true;
            }
            const auto left =
                std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
            pollfd ready{terminal_.get(), POLLIN, 0};
            if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0) return false;
            std::array<char, 4096> part{};
            const auto n = ::read(terminal_.get(), part.data(), part.size());
            if (n <= 0) return false;
            screen_.append(part.data(), static_cast<std::size_t>(n));
        }
    }
    // True if the shell says that the last command has ended with this code.
    [[nodiscard]] bool gets_code(int code) {
        types("echo code=$?\n");
        return sees("code=" + std::to_string(code));
    }
    [[nodiscard]] const std::string& screen() const { return screen_; }

  private:
    pid_t shell_ = -1;
    unique_fd terminal_;
    std::string screen_;
    std::size_t read_ = 0;
};

class on_a_terminal : public command_test {
  protected:
    void SetUp() override {
        // The terminal echoes input, so text that is waited for must not stand in the command line itself.
        someone.types("\"$HOLDFAST\" --version\n");
        ASSERT_TRUE(someone.sees("holdfast 0")) << someone.screen();
    }
    person someone{server.url()};
};

TEST_F(on_a_terminal, command_reads_the_keyboard) {
    someone.types("\"$HOLDFAST\" run a -- sh -c 'echo rea''dy; read x; echo \"<$x>\"'\n");
    ASSERT_TRUE(someone.sees("ready"));
    someone.types("words\n");
    EXPECT_TRUE(someone.sees("<words>")) << someone.screen();
}

TEST_F(on_a_terminal, interrupt_reaches_the_command_and_the_shell_continues) {
    someone.types("\"$HOLDFAST\" run a -- sh -c 'echo rea''dy; exec sleep 100'\n");
    ASSERT_TRUE(someone.sees("ready"));
    someone.presses('C');
    EXPECT_TRUE(someone.gets_code(130)) << someone.screen();
    EXPECT_FALSE(is_held("a"));
}

TEST_F(on_a_terminal, interrupt_ends_the_wait) {
    hold_as_another_client("a");
    someone.types("\"$HOLDFAST\" run -v a -- true\n");
    ASSERT_TRUE(someone.sees("holdfast: waiting for"));
    someone.presses('C');
    EXPECT_TRUE(someone.gets_code(130)) << someone.screen();
}

TEST_F(on_a_terminal, command_is_stopped_and_continued_in_the_foreground) {
    someone.types("\"$HOLDFAST\" run a -- sh -c 'echo rea''dy; read x; echo \"<$x>\"'\n");
    ASSERT_TRUE(someone.sees("ready"));
    someone.presses('Z');
    ASSERT_TRUE(someone.sees("Stopped")) << someone.screen();
    someone.types("echo shell=$((6*7))\n");
    ASSERT_TRUE(someone.sees("shell=42")) << someone.screen();
    someone.types("fg\n");
    ASSERT_TRUE(someone.sees("run a"));
    someone.types("words\n");
    EXPECT_TRUE(someone.sees("<words>")) << someone.screen();
}

TEST_F(on_a_terminal, background_job_that_reads_stops_until_it_is_brought_to_the_foreground) {
    someone.types("\"$HOLDFAST\" run a -- sh -c 'read x; echo \"<$x>\"' &\n");
    // The shell reports the stop when it is asked.
    ASSERT_TRUE(eventually(patience, [&] {
        someone.types("jobs; echo asked=$((1+1))\n");
        const auto before = someone.screen().size();
        return someone.sees("asked=2") && someone.screen().find("Stopped", before) != std::string::npos;
    }));
    someone.types("fg\n");
    someone.types("words\n");
    EXPECT_TRUE(someone.sees("<words>")) << someone.screen();
}

// The shell's group is orphaned, so no key can stop a process in it.
class without_job_control : public command_test {
  protected:
    void SetUp() override {
        someone.types("set +m; PS1=; stty -echo\n\"$HOLDFAST\" --version\n");
        ASSERT_TRUE(someone.sees("holdfast 0")) << someone.screen();
    }
    person someone{server.url(), person::job_control::no};
};

TEST_F(without_job_control, stop_key_does_nothing) {
    someone.types("\"$HOLDFAST\" run a -- sh -c 'echo ready; read x; echo \"<$x>\"'\n");
    ASSERT_TRUE(someone.sees("ready"));
    someone.presses('Z');
    someone.types("words\n");
    EXPECT_TRUE(someone.sees("<words>")) << someone.screen();
    EXPECT_TRUE(someone.gets_code(0)) << someone.screen();
}

TEST_F(without_job_control, shell_regains_the_terminal_from_a_job_of_a_killed_command) {
    someone.types(
        "\"$HOLDFAST\" run --grace 100ms a -- bash --norc -mc \"sh -c 'echo ready; exec sleep 100'; :\"\n");
    ASSERT_TRUE(someone.sees("ready"));
    free_as_another_client("a");
    ASSERT_TRUE(someone.sees("the lock \"a\" was lost")) << someone.screen();
    EXPECT_TRUE(someone.gets_code(75)) << someone.screen();
}

TEST_F(on_a_terminal, interrupt_ends_at_least_after_the_command_has_ended) {
    someone.types("\"$HOLDFAST\" run --json-fd 2 --at-least 1h a -- true\n");
    ASSERT_TRUE(someone.sees("\"exited\""));
    someone.presses('C');
    EXPECT_TRUE(someone.gets_code(130)) << someone.screen();
}

TEST_F(on_a_terminal, command_is_ended_if_its_lock_is_lost_while_it_is_stopped) {
    someone.types("\"$HOLDFAST\" run --ttl 3s a -- sh -c 'echo rea''dy; read x; echo still''here'\n");
    ASSERT_TRUE(someone.sees("ready"));
    someone.presses('Z');
    ASSERT_TRUE(someone.sees("Stopped"));
    ASSERT_TRUE(eventually(patience, [&] { return !is_held("a"); }));
    someone.types("fg\n");
    // "not renewed in time", or "lost" if the client says so before the guard does.
    ASSERT_TRUE(someone.sees("holdfast: the lock \"a\" was ")) << someone.screen();
    EXPECT_TRUE(someone.gets_code(75)) << someone.screen();
    EXPECT_EQ(someone.screen().find("stillhere"), std::string::npos);
}

TEST_F(on_a_terminal, last_in_a_pipeline_keeps_the_keyboard) {
    someone.types(
        "\"$HOLDFAST\" run a -- sh -c 'echo line; sleep 0.2' | sh -c 'cat; read x </dev/tty; echo "
        "\"<$x>\"'\n");
    ASSERT_TRUE(someone.sees("line"));
    someone.types("words\n");
    EXPECT_TRUE(someone.sees("<words>")) << someone.screen();
}

TEST_F(on_a_terminal, command_in_a_pipeline_gets_the_keyboard_when_it_reads) {
    someone.types("echo piped | \"$HOLDFAST\" run a -- sh -c 'cat; read x </dev/tty; echo \"<$x>\"'\n");
    ASSERT_TRUE(someone.sees("piped\r\n"));
    someone.types("words\n");
    EXPECT_TRUE(someone.sees("<words>")) << someone.screen();
}

TEST_F(on_a_terminal, evict_asks_for_confirmation) {
    hold_as_another_client("a");
    someone.types("\"$HOLDFAST\" evict a\n");
    ASSERT_TRUE(someone.sees("Evict the lock \"a\" held by another client? [y/N] "));
    someone.types("n\n");
    ASSERT_TRUE(someone.gets_code(1));
    EXPECT_TRUE(is_held("a"));
    someone.types("\"$HOLDFAST\" evict a\n");
    ASSERT_TRUE(someone.sees("[y/N] "));
    someone.types("y\n");
    EXPECT_TRUE(someone.sees("evicted \"a\""));
    EXPECT_FALSE(is_held("a"));
}

TEST_F(on_a_terminal, evict_spares_a_holder_that_came_while_it_asked) {
    hold_as_another_client("a");
    someone.types("\"$HOLDFAST\" evict a\n");
    ASSERT_TRUE(someone.sees("[y/N] "));
    server.command({"SET", "a", "somebody else", "PX", "60000"});
    someone.types("y\n");
    EXPECT_TRUE(someone.sees("another client acquired \"a\" meanwhile; nothing was evicted"));
    EXPECT_EQ(server.command({"GET", "a"}).text, "somebody else");
}

TEST_F(on_a_terminal, doctor_keeps_to_the_width_of_the_terminal) {
    someone.types("stty cols 50\n\"$HOLDFAST\" doctor; echo exam''ined\n");
    ASSERT_TRUE(someone.sees("DANGER")) << someone.screen();
    const auto begin = someone.screen().rfind('\n', someone.screen().find("DANGER"));
    ASSERT_TRUE(someone.sees("examined")) << someone.screen();
    std::istringstream lines{someone.screen().substr(begin)};
    std::size_t longest = 0;
    for (std::string line; std::getline(lines, line);) {
        // A command to be copied is not broken.
        if (line.find("mend: ") == std::string::npos)
            longest = std::max(longest, line.find_last_not_of('\r') + 1);
    }
    EXPECT_LE(longest, 50U) << someone.screen();
    EXPECT_GT(longest, 40U);
}

TEST_F(on_a_terminal, ls_shows_a_table) {
    someone.types("\"$HOLDFAST\" run short long:name -- \"$HOLDFAST\" ls\n");
    EXPECT_TRUE(someone.sees("NAME       KIND   HOLDER"));
    EXPECT_TRUE(someone.sees("long:name  mutex  "));
    EXPECT_TRUE(someone.sees("short      mutex  ")) << someone.screen();
    someone.types("\"$HOLDFAST\" ls\n");
    EXPECT_TRUE(someone.sees("no lock is held"));
}

}  // namespace
}  // namespace holdfast::test::cli
