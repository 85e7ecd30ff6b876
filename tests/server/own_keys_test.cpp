// Keys that clients reserve for themselves: they cannot be locked, counted or evicted.
#include "server/cli_scene.hpp"
#include "server/redlock_scene.hpp"

#include <holdfast/admin.hpp>

namespace holdfast::test {
namespace {

const std::string own_keys[] = {"holdfast:promoted", "holdfast:redlock", "holdfast:redlock:stock"};

void expect_no_lock_at(client& c, const std::string& name) {
    const auto refused = [](auto&& act) -> std::string {
        try {
            act();
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::invalid_argument) << e.what();
            EXPECT_EQ(e.server_text(), "");
            return e.what();
        }
        return "not refused";
    };
    const auto says_what_it_is = "no lock may be called \"" + name + "\", it is the key under which ";
    for (const auto& why :
         {refused([&] { (void)mutex(c, name).try_acquire(); }), refused([&] { mutex(c, name).lock(); }),
          refused([&] { (void)recursive_mutex(c, name).try_acquire(); }),
          refused([&] { (void)evict(c, lock_name{name}); })})
        EXPECT_NE(why.find(says_what_it_is), std::string::npos) << why;
}

class own_key : public cli::command_test, public ::testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(, own_key, ::testing::ValuesIn(own_keys));

TEST_P(own_key, is_not_a_lock) {
    const auto& name = GetParam();
    client c{settings(server.url())};
    for (const bool there : {false, true}) {
        if (there) server.command({"SET", name, "3 a:1,b:2,c:3"});
        expect_no_lock_at(c, name);
        counting_semaphore count{c, name};
        EXPECT_EQ(code_of([&] { (void)count.try_set_permits(3); }), errc::invalid_argument);
        EXPECT_EQ(server.command({"GET", name}).text, there ? "3 a:1,b:2,c:3" : "");
        EXPECT_TRUE(list(c).empty()) << "a reserved key is not listed";
        const auto seen = inspect(c, lock_name{name});
        EXPECT_EQ(seen.layout.starts_with(there ? "no lock: the key under which" : "free"), true)
            << seen.layout;
        EXPECT_TRUE(seen.holders.empty());
    }
}

TEST_P(own_key, is_refused_by_the_command_line) {
    const auto& name = GetParam();
    server.command({"SET", name, "3 a:1,b:2,c:3"});
    const auto refused = run({"evict", "--yes", name});
    EXPECT_EQ(refused.code, 64);
    EXPECT_NE(refused.errors.find("it is the key under which"), std::string::npos) << refused.errors;
    EXPECT_EQ(refused.errors.find("the server says"), std::string::npos) << refused.errors;
    EXPECT_TRUE(is_held(name));
    EXPECT_EQ(run({"run", "-n", name, "--", "true"}).code, 64);
    const auto shown = run({"inspect", name}).output;
    EXPECT_NE(shown.find("kind     no lock: the key under which"), std::string::npos) << shown;
    EXPECT_NE(run({"inspect", "--json", name}).output.find("\"held\":false"), std::string::npos);
}

class redlock_own_keys : public five_servers {};

TEST_F(redlock_own_keys, are_not_locks) {
    client c{with()};
    EXPECT_TRUE(mutex(c, "job").acquire().release());
    ASSERT_EQ(members_with("holdfast:redlock"), n);
    for (const auto& name : own_keys) expect_no_lock_at(c, name);
    EXPECT_EQ(members_with("holdfast:redlock"), n);
    EXPECT_TRUE(inspect(c, lock_name{"holdfast:redlock"}).layout.starts_with("no lock: the key under which"));
    EXPECT_TRUE(list(c, "holdfast:*").empty());
}

}  // namespace
}  // namespace holdfast::test
