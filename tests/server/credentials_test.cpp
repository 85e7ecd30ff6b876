// A client that asks the program for the user and the password of each connection.
#include "server/scene.hpp"

#include <mutex>
#include <stdexcept>
#include <vector>

namespace holdfast::test {
namespace {

class changing_password : public ::testing::Test {
  protected:
    changing_password() { let_in("first"); }

    // From now on the server accepts this password only, and forgets who has logged in.
    void let_in(const std::string& password) {
        ASSERT_EQ(
            server
                .command({"ACL", "SETUSER", "alice", "on", "resetpass", ">" + password, "~*", "&*", "+@all"})
                .text,
            "OK");
        (void)server.command({"CLIENT", "KILL", "USER", "alice"});
    }
    void use(std::string password) {
        const std::lock_guard hold{guard_};
        password_ = std::move(password);
    }
    [[nodiscard]] std::vector<std::string> asked_for() {
        const std::lock_guard hold{guard_};
        return asked_for_;
    }
    [[nodiscard]] config with_credentials() {
        auto c = settings(server.url());
        c.redis.credentials = [this](const std::string& address) -> redis_credentials {
            const std::lock_guard hold{guard_};
            asked_for_.push_back(address);
            if (password_.empty()) throw std::runtime_error("the vault is sealed");
            return {"alice", password_};
        };
        return c;
    }

    redis_server server;

  private:
    std::mutex guard_;
    std::string password_ = "first";
    std::vector<std::string> asked_for_;
};

TEST_F(changing_password, is_asked_for_at_each_connection) {
    client c{with_credentials()};
    mutex lock{c, "job"};
    EXPECT_TRUE(lock.acquire().valid());
    const auto before = asked_for().size();
    EXPECT_GE(before, 1U);
    EXPECT_EQ(asked_for().front(), "127.0.0.1:" + std::to_string(server.port()));

    use("second");
    let_in("second");
    EXPECT_TRUE(lock.try_acquire_for(patience).valid());
    EXPECT_GT(asked_for().size(), before);
}

TEST_F(changing_password, that_cannot_be_given_is_an_error_until_it_can) {
    use("");
    client c{with_credentials()};
    mutex lock{c, "job"};
    try {
        (void)lock.try_acquire();
        FAIL() << "acquired without a password";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::unavailable);
        EXPECT_NE(std::string{e.what()}.find("the vault is sealed"), std::string::npos) << e.what();
    }
    use("first");
    EXPECT_TRUE(eventually(patience, [&] {
        std::error_code ec;
        return lock.try_acquire(ec).valid();
    }));
}

}  // namespace
}  // namespace holdfast::test
