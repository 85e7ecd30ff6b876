// main() of every test binary. A test that hangs ends it and is named; ctest's own limit only says which
// binary.
#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace {

// Ten times what the longest test takes under a sanitizer on two busy CPUs.
constexpr unsigned seconds_for_one_test = 150;

std::array<char, 512> running{};  // read in the signal handler

void on_alarm(int) {
    constexpr char hangs[] = "\nthis test hangs: ";
    (void)!::write(STDERR_FILENO, hangs, sizeof hangs - 1);
    (void)!::write(STDERR_FILENO, running.data(), std::strlen(running.data()));
    (void)!::write(STDERR_FILENO, "\n", 1);
    std::abort();  // a sanitizer adds where, with handle_abort=1
}

class one_test_limit : public ::testing::EmptyTestEventListener {
    void OnTestStart(const ::testing::TestInfo& test) override {
        std::snprintf(running.data(), running.size(), "%s.%s", test.test_suite_name(), test.name());
        ::alarm(seconds_for_one_test);
    }
    void OnTestEnd(const ::testing::TestInfo&) override { ::alarm(0); }
};

}  // namespace

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    std::signal(SIGALRM, on_alarm);
    ::testing::UnitTest::GetInstance()->listeners().Append(new one_test_limit);
    return RUN_ALL_TESTS();
}
