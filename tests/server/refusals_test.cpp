// The text of a refusal: our words in the sentence, and only what a server sent as the server's.
#include "server/cli_scene.hpp"
#include "server/scene.hpp"

#include <holdfast/admin.hpp>

#include <sstream>

namespace holdfast::test {
namespace {

class refusal : public cli::command_test {
  protected:
    [[nodiscard]] std::string url_of(const std::string& user, const std::string& rules) {
        cli::words all{"ACL", "SETUSER", user, "reset", "on", ">pw"};
        std::istringstream in{rules};
        for (std::string rule; in >> rule;) all.push_back(rule);
        EXPECT_EQ(server.command(all).text, "OK") << rules;
        return "redis://" + user + ":pw@127.0.0.1:" + std::to_string(server.port());
    }
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr auto server_quote = "(the server says: ";

TEST_F(refusal, of_our_own_is_not_attributed_to_the_server) {
    const auto unseen = url_of("unseen", "~* &* +@all -info") + "?restarts=quarantined";
    const auto wrong = "redis://unseen:other@127.0.0.1:" + std::to_string(server.port());
    server.command({"HSET", "hash", "f", "v"});
    const reserved_port unused;  // until the end: otherwise another test's server could answer
    const auto gone = "redis://127.0.0.1:" + std::to_string(unused.number());
    struct expected {
        cli::words how;
        std::string says;
    };
    for (const auto& [how, says] : {
             expected{{"run", "--url", unseen, "job", "--", "true"},
                      "does not say which run of the server it is"},
             expected{{"run", "--url", wrong, "job", "--", "true"},
                      "refused the user or the password: WRONGPASS"},
             expected{{"run", "-n", "--url", gone, "job", "--", "true"}, "connection refused by"},
             expected{{"inspect", "--url", gone, "job"}, "inspecting \"job\" failed: connection refused by"},
             expected{{"inspect", "--url", wrong, "job"}, "refused the user or the password: WRONGPASS"},
             expected{{"doctor", "--url", gone}, "connection refused by"},
             expected{{"evict", "--yes", "hash"}, "the key holds a foreign hash"},
         }) {
        const auto refused = run(how);
        EXPECT_NE(refused.code, 0);
        EXPECT_TRUE(has(refused.errors, says)) << refused.errors;
        EXPECT_FALSE(has(refused.errors, server_quote)) << refused.errors;
    }
}

TEST_F(refusal, of_the_server_is_quoted_and_explained) {
    const auto none = url_of("none", "~other &* +@all");
    const auto lock = run({"run", "--url", none, "job", "--", "true"});
    EXPECT_TRUE(has(lock.errors, "(missing is the right to a key; holdfast doctor NAME prints the ACL rule"))
        << lock.errors;
    EXPECT_TRUE(has(lock.errors, server_quote + std::string{"NOPERM"})) << lock.errors;
    EXPECT_LT(lock.errors.find("missing is"), lock.errors.find(server_quote)) << lock.errors;

    client c{url_of("short", "~* &* +@all -scan")};
    try {
        (void)list(c);
        FAIL() << "listed";
    } catch (const error& e) {
        EXPECT_TRUE(has(e.what(), "listing \"*\" failed: missing is the right to run scan")) << e.what();
        EXPECT_TRUE(e.server_text().starts_with("NOPERM")) << e.server_text();
        EXPECT_FALSE(has(e.server_text(), "holdfast")) << e.server_text();
    }
}

}  // namespace
}  // namespace holdfast::test
