// A lock excludes other processes, here the command. Two clients of one process might exclude each other and
// no other process, as with locks of fcntl(2).
#include "contract/lock_contract.hpp"
#include "support/child_process.hpp"

namespace holdfast::contract {
namespace {

class process_contract : public lock_contract {
  protected:
    // `holdfast run`, with these words behind the name of the lock.
    [[nodiscard]] static std::vector<std::string> command(const std::vector<std::string>& words) {
        std::vector<std::string> all{HOLDFAST_COMMAND, "run", "--url", settings().url, "--no-wait", "--kind"};
        all.emplace_back(option_name(GetParam().of));
        if (GetParam().of == kind::shared_write) all.emplace_back("-x");
        all.emplace_back(stock);
        all.insert(all.end(), words.begin(), words.end());
        return all;
    }
};

TEST_P(process_contract, lock_excludes_other_processes) {
    constexpr int code_of_a_conflict = 1;
    const auto of_a = lock_of(a());
    auto held = of_a->acquire();
    test::child_process refused{command({"--", "true"})};
    EXPECT_EQ(refused.wait(patience), code_of_a_conflict) << refused.errors();
    EXPECT_TRUE(held.release());

    test::child_process holder{command({"--", "sh", "-c", "echo held; read line"})};
    ASSERT_TRUE(holder.wait_for_output("held", patience)) << holder.errors();
    EXPECT_FALSE(of_a->try_acquire());
    holder.write("enough\n");
    EXPECT_EQ(holder.wait(patience), 0) << holder.errors();
    EXPECT_TRUE(of_a->try_acquire_for(patience));
}

// Fenced mutexes are not among the kinds of the command.
bool a_lock_of_the_command(const subject& s) {
    return needs::a_lock(s) && s.of != kind::native_fenced &&
           s.can().has.guarantee != strength::process_local;
}

HOLDFAST_INSTANTIATE_CONTRACT(process_contract, a_lock_of_the_command);

}  // namespace
}  // namespace holdfast::contract
