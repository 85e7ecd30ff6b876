// Whom a client trusts to be its SQL database.
#include "server/sql_scene.hpp"
#include "support/certificates.hpp"
#include "support/errors.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class sql_server_in_tls : public ::testing::TestWithParam<sql_kind> {
  protected:
    [[nodiscard]] std::unique_ptr<sql_server> server_with(const certificate& its) const {
        return start_sql_server(GetParam(), {.shows = &its});
    }
    // What keeps the client from the server; empty: nothing. A machine under load may need several tries to
    // get as far as `reason`.
    static std::string refusal(const std::string& url, const std::string& reason) {
        client c{sql_settings(url)};
        std::string why;
        (void)eventually(patience, [&] {
            why = message_of([&] { (void)mutex(c, "stock").try_acquire(); });
            return why.empty() || why.find(reason) != std::string::npos;
        });
        return why;
    }

    const temp_dir folder;
    const certificate_authority ours{folder.path(), "ours"};
};
HOLDFAST_ON_EACH_SQL_SERVER(sql_server_in_tls);

TEST_P(sql_server_in_tls, must_show_a_certificate_for_its_name) {
    const auto server = server_with(ours.issue("db", name_to_certify(GetParam())));
    for (const auto& url : {server->url_trusting(ours), server->url_trusting_anybody()}) {
        client c{sql_settings(url)};
        mutex stock{c, "stock"};
        for (int i = 0; i < 20; ++i) EXPECT_TRUE(stock.acquire().release());
    }
    const auto untrusted = refusal(server->url_trusting_this_machine(), "certificate");
    EXPECT_NE(untrusted.find("certificate"), std::string::npos) << untrusted;
}

TEST_P(sql_server_in_tls, is_refused_with_the_certificate_of_another) {
    const auto server = server_with(ours.issue("db", "DNS:other.example.org"));
    // OpenSSL's words to MariaDB's client do not name the server.
    const std::string reason = GetParam() == sql_kind::postgres ? "db.example.org" : "SSL";
    const auto why = refusal(server->url_trusting(ours), reason);
    EXPECT_NE(why.find(reason), std::string::npos) << why;
}

TEST_P(sql_server_in_tls, is_refused_without_it) {
    const auto plain = start_sql_server(GetParam());
    const auto why = refusal(plain->url_trusting(ours), "SSL");
    EXPECT_NE(why.find("SSL"), std::string::npos) << why;
}

}  // namespace
}  // namespace holdfast::test
