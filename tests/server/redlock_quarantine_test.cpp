// Members that may have lost locks: which clients wait for them, how long, and what later clients know of
// them.
#include "server/cli_scene.hpp"
#include "server/redlock_scene.hpp"

#include <fstream>

namespace holdfast::test {
namespace {

class redlock_quarantine : public five_servers {
  protected:
    [[nodiscard]] config strict() const { return settings(strict_url(), longest); }
    [[nodiscard]] std::string strict_url() const {
        return url("node_timeout=1s,longest_lease=" + std::to_string(longest.count()) + "ms,");
    }
    // Promotes servers that were replicas of others, as Sentinel would.
    void promote_all() {
        for (std::size_t i = 0; i < n; ++i) {
            servers[i].command({"REPLICAOF", "127.0.0.1", std::to_string(servers[(i + 1) % n].port())});
            ASSERT_EQ(servers[i].command({"REPLICAOF", "NO", "ONE"}).text, "OK");
        }
    }
    [[nodiscard]] static std::string refusal_of(client& c) {
        try {
            (void)mutex(c, "job").try_acquire();
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::quarantined);
            return e.what();
        }
        return "none";
    }

    static constexpr milliseconds longest = 4s * slower;
    const std::string note = "holdfast:promoted";
};

// Each of these clients stands for a process that lives for less than the quarantine.
TEST_F(redlock_quarantine, ends_once_for_all_clients_and_begins_with_each_promotion) {
    promote_all();
    // A note that came from a former master has no value.
    const std::string foreign(40, 'f');
    for (auto& s : servers) s.command({"SET", note, "promoted " + foreign + ":" + foreign + " 1"});
    stopwatch first;
    {
        client c{strict()};
        const auto why = refusal_of(c);
        EXPECT_NE(why.find("was promoted so recently"), std::string::npos) << why;
        EXPECT_NE(why.find("counts again in"), std::string::npos) << why;
        EXPECT_EQ(code_of([&] { (void)mutex(c, "job").try_acquire_for(100ms); }), errc::quarantined);
        EXPECT_TRUE(mutex(c, "job").acquire().release());
        EXPECT_GE(first.took(), longest);
    }
    // A member that was too slow keeps its old note; a majority does not.
    const auto is_its_own = [this](redis_server& s) {
        const auto known = s.command({"GET", note}).text;
        return s.command({"INFO", "server"})
                   .text.find("run_id:" + known.substr(std::size("promoted ") - 1, 40)) != std::string::npos;
    };
    EXPECT_GE(std::count_if(servers.begin(), servers.end(), is_its_own), 3);
    stopwatch second;
    {
        client c{strict()};
        EXPECT_TRUE(mutex(c, "job").acquire().release());
        // The times are whole seconds: the client may wait for one.
        EXPECT_LT(second.took(), longest * 3 / 4 + taken_by_the_machine());
        for (const auto& l : list(c, "*")) EXPECT_NE(l.name, lock_name{note}) << "the note is no lock";
        EXPECT_EQ(code_of([&] { (void)mutex(c, note).try_acquire(); }), errc::invalid_argument);
    }
    promote_all();
    client c{strict()};
    EXPECT_NE(refusal_of(c).find("was promoted so recently"), std::string::npos);
}

TEST_F(redlock_quarantine, is_waited_out_by_the_command_line_unless_it_may_not_wait) {
    const temp_dir folder;
    const auto file = folder.path() / "holdfast.conf";
    std::ofstream{file} << "lease = " << longest.count() << "ms\n";
    const auto run = [&](std::vector<std::string> how) {
        how.insert(how.begin(), {"--config", file.string(), "run"});
        how.insert(how.end(), {"job", "--", "true"});
        auto command = cli::start_command(how, {{"HOLDFAST_URL", strict_url()}});
        return cli::outcome_of(command, longest + patience);
    };
    const auto at_once = run({"-n"});
    EXPECT_EQ(at_once.code, 69);
    EXPECT_NE(at_once.errors.find("was started so recently"), std::string::npos) << at_once.errors;
    EXPECT_EQ(run({"-w", "50ms"}).code, 69);
    const auto waited = run({});
    EXPECT_EQ(waited.code, 0) << waited.errors;
    EXPECT_NE(waited.errors.find("holdfast: waiting: the lock \"job\""), std::string::npos) << waited.errors;
    for (auto& s : servers)
        EXPECT_EQ(s.keys(), std::vector<std::string>{"holdfast:redlock"}) << "a start needs no note";
}

}  // namespace
}  // namespace holdfast::test
