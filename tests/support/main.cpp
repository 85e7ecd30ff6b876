// main() of every test binary. If a test hangs, the process names it and ends. The same holds before the
// first test, between two suites and after the last; ctest's own limit would only name the binary. Misuse of
// a lock ends the process in a release build too, not only under a sanitizer.
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

// A test whose wait fails reports that itself before this limit, with more detail.
constexpr auto seconds_for_one_test = static_cast<unsigned>(
    std::chrono::duration_cast<std::chrono::seconds>(2 * holdfast::test::patience).count());

std::array<char, 512> running{};  // read in the signal handler

void report_hang() {
    constexpr char hangs[] = "\nthis test hangs: ";
    (void)!::write(STDERR_FILENO, hangs, sizeof hangs - 1);
    (void)!::write(STDERR_FILENO, running.data(), std::strlen(running.data()));
    (void)!::write(STDERR_FILENO, "\n", 1);
}

void on_alarm(int) {
    report_hang();
    std::abort();  // a sanitizer adds where, with handle_abort=1
}

void on_misuse(const char* what) noexcept {
    std::fprintf(stderr, "%s: %s\n", running.data(), what);
    std::abort();
}

std::atomic<std::chrono::steady_clock::duration> end_at{};

// Under thread sanitizer the alarm may never be handled while a thread waits in the kernel. Then this ends
// the process, without a report of the sanitizer.
[[noreturn]] void end_if_the_alarm_does_not() {
    for (;;) {
        std::this_thread::sleep_for(std::chrono::seconds{1});
        if (std::chrono::steady_clock::now().time_since_epoch() < end_at.load()) continue;
        report_hang();
        ::_exit(EXIT_FAILURE);
    }
}

void begin_step(const std::string& what) {
    std::snprintf(running.data(), running.size(), "%s", what.c_str());
    ::alarm(seconds_for_one_test);
    end_at =
        std::chrono::steady_clock::now().time_since_epoch() + std::chrono::seconds{seconds_for_one_test + 20};
}

// Limits each step of the run, from the first line to the last.
class limits : public ::testing::EmptyTestEventListener {
    static std::string name_of(const ::testing::TestInfo& test) {
        return std::string{test.test_suite_name()} + '.' + test.name();
    }
    void OnTestSuiteStart(const ::testing::TestSuite& suite) override { begin_step(suite.name()); }
    void OnTestStart(const ::testing::TestInfo& test) override {
        begin_step(name_of(test));
        holdfast::test::forget_stalls();
    }
    void OnTestEnd(const ::testing::TestInfo& test) override { begin_step("after " + name_of(test)); }
    void OnTestSuiteEnd(const ::testing::TestSuite& suite) override {
        begin_step(std::string{"after "} + suite.name());
    }
};

}  // namespace

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    std::signal(SIGALRM, on_alarm);
    holdfast::base::on_misuse(on_misuse);
    ::testing::UnitTest::GetInstance()->listeners().Append(new limits);
    holdfast::test::measure_stalls();
    begin_step("before the first test");
    std::thread{end_if_the_alarm_does_not}.detach();
    return RUN_ALL_TESTS();
}
