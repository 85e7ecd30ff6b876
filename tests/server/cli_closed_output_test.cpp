// The command when its caller has closed standard output.
#include "server/cli_scene.hpp"

namespace holdfast::test::cli {
namespace {

class command_with_a_closed_output : public command_test {
  protected:
    [[nodiscard]] outcome run_closed(const std::string& what) const {
        auto command = start_shell("exec \"$0\" " + what + " >&-");
        return outcome_of(command);
    }
};

TEST_F(command_with_a_closed_output, exits_with_74_if_it_has_output) {
    server.command({"HSET", "job", "8743c9c0-0795-4907-87fd-6c719a6b4586:1", "1"});
    server.command({"PEXPIRE", "job", "60000"});
    for (const auto* const what :
         {"--help", "--version", "run --help", "lab --help", "--print-manual", "--print-completion-bash",
          "ls", "ls --json", "inspect job", "inspect job --json", "doctor", "doctor --json",
          "latch ready count", "lab", "evict --yes job"}) {
        const auto ended = run_closed(what);
        EXPECT_EQ(ended.code, 74) << what << ": " << ended.errors;
        EXPECT_NE(ended.errors.find("the output cannot be written"), std::string::npos)
            << what << ": " << ended.errors;
    }
}

TEST_F(command_with_a_closed_output, without_output_does_its_work) {
    EXPECT_EQ(run_closed("run job -- true").code, 0);
    EXPECT_EQ(run_closed("run job -- sh -c 'exit 3'").code, 3);
}

TEST_F(command_with_a_closed_output, rejects_it_as_json_fd) {
    EXPECT_EQ(run_closed("run --json-fd 1 job -- true").code, 64);
}

}  // namespace
}  // namespace holdfast::test::cli
