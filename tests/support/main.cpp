// main() of every test binary. A test that hangs ends it and is named; ctest's own limit only says which
// binary. Misuse of a lock ends it in a release build too, not first under a sanitizer.
#include "base/misuse.hpp"
#include "support/eventually.hpp"
#include "support/stalls.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace {

// A test that waits in vain reports that itself first, with more words.
constexpr auto seconds_for_one_test = static_cast<unsigned>(
    std::chrono::duration_cast<std::chrono::seconds>(2 * holdfast::test::patience).count());

std::array<char, 512> running{};  // read in the signal handler

void on_alarm(int) {
    constexpr char hangs[] = "\nthis test hangs: ";
    (void)!::write(STDERR_FILENO, hangs, sizeof hangs - 1);
    (void)!::write(STDERR_FILENO, running.data(), std::strlen(running.data()));
    (void)!::write(STDERR_FILENO, "\n", 1);
    std::abort();  // a sanitizer adds where, with handle_abort=1
}

void on_misuse(const char* what) noexcept {
    std::fprintf(stderr, "%s: %s\n", running.data(), what);
    std::abort();
}

class one_test_limit : public ::testing::EmptyTestEventListener {
    void OnTestStart(const ::testing::TestInfo& test) override {
        std::snprintf(running.data(), running.size(), "%s.%s", test.test_suite_name(), test.name());
        ::alarm(seconds_for_one_test);
        holdfast::test::forget_stalls();
    }
    void OnTestEnd(const ::testing::TestInfo&) override { ::alarm(0); }
};

}  // namespace

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    std::signal(SIGALRM, on_alarm);
    holdfast::base::on_misuse(on_misuse);
    ::testing::UnitTest::GetInstance()->listeners().Append(new one_test_limit);
    holdfast::test::measure_stalls();
    return RUN_ALL_TESTS();
}
