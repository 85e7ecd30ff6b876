// The command with too few file descriptors.
#include "server/cli_scene.hpp"

namespace holdfast::test::cli {
namespace {

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need descriptors of their own

TEST_F(command_test, lack_of_descriptors_is_reported_as_such) {
    for (const std::string what : {"run job -- true", "ls"}) {
        bool named_the_limit = false;
        for (int limit = 4; limit <= 40; ++limit) {
            auto command = start_shell("ulimit -n " + std::to_string(limit) + "; exec \"$0\" " + what);
            const auto ended = outcome_of(command);
            if (ended.code == 127) continue;  // not even its libraries can be opened
            if (ended.code == 0) continue;
            EXPECT_TRUE(ended.code == 71 || ended.code == 69) << limit << ": " << ended.code << ended.errors;
            EXPECT_NE(ended.errors.find("Too many open files"), std::string::npos)
                << limit << ": " << ended.errors;
            if (ended.code != 71) continue;
            named_the_limit = true;
            EXPECT_NE(ended.errors.find("raise the limit (ulimit -n)"), std::string::npos) << ended.errors;
        }
        EXPECT_TRUE(named_the_limit) << what;
    }
}

#endif

}  // namespace
}  // namespace holdfast::test::cli
