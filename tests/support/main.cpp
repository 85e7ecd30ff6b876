// main() of every test binary. A test that hangs ends it and is named, and so does one that hangs in what
// comes before the first, between two suites, or after the last; ctest's own limit only says which binary.
// Misuse of a lock ends it in a release build too, not first under a sanitizer.
#include "base/misuse.hpp"
#include "support/eventually.hpp"
#include "support/stalls.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include <unistd.h>

namespace {

// A test that waits in vain reports that itself first, with more words.
constexpr auto seconds_for_one_test = static_cast<unsigned>(
    std::chrono::duration_cast<std::chrono::seconds>(2 * holdfast::test::patience).count());

std::array<char, 512> running{};  // read in the signal handler

void tell_that_it_hangs() {
    constexpr char hangs[] = "\nthis test hangs: ";
    (void)!::write(STDERR_FILENO, hangs, sizeof hangs - 1);
    (void)!::write(STDERR_FILENO, running.data(), std::strlen(running.data()));
    (void)!::write(STDERR_FILENO, "\n", 1);
}

void on_alarm(int) {
    tell_that_it_hangs();
    std::abort();  // a sanitizer adds where, with handle_abort=1
}

void on_misuse(const char* what) noexcept {
    std::fprintf(stderr, "%s: %s\n", running.data(), what);
    std::abort();
}

std::atomic<std::chrono::steady_clock::duration> end_at{};

// A signal may wait for ever: of a thread that waits in the kernel, thread sanitizer hears too late. Then
// this ends the process, without a sanitizer's words.
[[noreturn]] void end_what_no_signal_ends() {
    for (;;) {
        std::this_thread::sleep_for(std::chrono::seconds{1});
        if (std::chrono::steady_clock::now().time_since_epoch() < end_at.load()) continue;
        tell_that_it_hangs();
        ::_exit(EXIT_FAILURE);
    }
}

void allow_a_while(const std::string& what) {
    std::snprintf(running.data(), running.size(), "%s", what.c_str());
    ::alarm(seconds_for_one_test);
    end_at =
        std::chrono::steady_clock::now().time_since_epoch() + std::chrono::seconds{seconds_for_one_test + 20};
}

// From the first line to the last: always one of these is the latest.
class limits : public ::testing::EmptyTestEventListener {
    static std::string name_of(const ::testing::TestInfo& test) {
        return std::string{test.test_suite_name()} + '.' + test.name();
    }
    void OnTestSuiteStart(const ::testing::TestSuite& suite) override { allow_a_while(suite.name()); }
    void OnTestStart(const ::testing::TestInfo& test) override {
        allow_a_while(name_of(test));
        holdfast::test::forget_stalls();
    }
    void OnTestEnd(const ::testing::TestInfo& test) override { allow_a_while("behind " + name_of(test)); }
    void OnTestSuiteEnd(const ::testing::TestSuite& suite) override {
        allow_a_while(std::string{"behind "} + suite.name());
    }
};

}  // namespace

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    std::signal(SIGALRM, on_alarm);
    holdfast::base::on_misuse(on_misuse);
    ::testing::UnitTest::GetInstance()->listeners().Append(new limits);
    holdfast::test::measure_stalls();
    allow_a_while("before the first test");
    std::thread{end_what_no_signal_ends}.detach();
    return RUN_ALL_TESTS();
}
