// Locks in ZooKeeper over TLS.
#include "server/zookeeper_scene.hpp"
#include "support/certificates.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace holdfast::test {
namespace {

std::string content_of(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream{path}.rdbuf();
    return text.str();
}

class zookeeper_over_tls : public zookeeper_locks {
  protected:
    zookeeper_over_tls() {
        // A key store in PEM has both.
        std::ofstream{store} << content_of(of_server.key) << content_of(of_server.cert);
        wanted.config = {"secureClientPort=" + std::to_string(secure.number()),
                         "secureClientPortAddress=127.0.0.1",
                         "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
                         "ssl.keyStore.location=" + store,
                         "ssl.trustStore.location=" + authority.file(),
                         "ssl.trustStore.type=PEM",
                         "ssl.clientAuth=need"};
    }
    [[nodiscard]] std::string url(const std::string& options) const {
        return "zks://127.0.0.1:" + std::to_string(secure.number()) + "?tick=200ms" + options;
    }
    [[nodiscard]] std::string own_options() const {
        return "&ca=" + authority.file() + "&cert=" + of_client.cert + "&key=" + of_client.key;
    }
    // The first handshake of a server makes its Java load what TLS needs, which takes seconds on a busy
    // machine.
    [[nodiscard]] config unhurried(const std::string& options) const {
        auto how = settings_for(url(options), 30s);
        how.answer_timeout = 20s;
        return how;
    }

    static void expect_refusal(client& c, std::string_view says) {
        try {
            (void)mutex(c, "stock").try_acquire();
            ADD_FAILURE() << "it is not refused";
        } catch (const error& e) {
            EXPECT_NE(std::string_view{e.what()}.find(says), std::string_view::npos) << e.what();
        }
    }

    temp_dir folder;
    reserved_port secure;
    certificate_authority authority{folder.path(), "ca"};
    certificate_authority another{folder.path(), "another"};
    certificate of_server = authority.issue("server", "DNS:localhost,IP:127.0.0.1");
    certificate of_client = authority.issue("client", "DNS:client");
    std::string store = (folder.path() / "store.pem").string();
};

TEST_F(zookeeper_over_tls, exclude_each_other) {
    client one{unhurried(own_options())};
    client other{settings_for(servers->url())};
    auto held = mutex(one, "stock").acquire();
    EXPECT_TRUE(held.valid());
    EXPECT_FALSE(mutex(other, "stock").try_acquire());
    EXPECT_EQ(held.release(), release_outcome::released);
    const auto examined = admin::examine(one, {});
    ASSERT_EQ(examined.servers.size(), 1U);
    EXPECT_EQ(examined.servers[0].role, "standalone");
}

TEST_F(zookeeper_over_tls, refuse_a_server_that_another_authority_signed) {
    client one{unhurried("&ca=" + another.file() + "&cert=" + of_client.cert + "&key=" + of_client.key)};
    expect_refusal(one, "certificate");
}

TEST_F(zookeeper_over_tls, refuse_a_server_with_another_name) {
    client one{unhurried(own_options() + "&server_name=elsewhere")};
    expect_refusal(one, "hostname mismatch");
}

TEST_F(zookeeper_over_tls, read_files_again_that_have_changed) {
    const auto file = folder.path() / "authorities.pem";
    const auto next = folder.path() / "next.pem";
    std::filesystem::copy_file(another.file(), file);
    client one{unhurried("&ca=" + file.string() + "&cert=" + of_client.cert + "&key=" + of_client.key)};
    expect_refusal(one, "certificate");
    std::filesystem::copy_file(authority.file(), next);
    std::filesystem::rename(next, file);
    mutex stock{one, "stock"};
    EXPECT_TRUE(eventually(patience, [&] {
        std::error_code ec;
        return stock.try_acquire(ec).valid();
    }));
    const auto examined = admin::examine(one, {});
    ASSERT_EQ(examined.servers.size(), 1U);
    EXPECT_EQ(examined.servers[0].role, "standalone");
}

}  // namespace
}  // namespace holdfast::test
