// The options of a Redis URL that concern locks.
#include "backends/redis/url/lock_url.hpp"

#include <holdfast/error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace holdfast::redis_backend {
namespace {

using namespace std::chrono_literals;

TEST(lock_url, says_when_servers_are_quarantined) {
    const auto usual = parse_lock_url("redis://h").quarantine;
    EXPECT_FALSE(usual.wanted());
    const auto restarts = parse_lock_url("redis://h?restarts=quarantined&longest_lease=5s").quarantine;
    EXPECT_TRUE(restarts.after_restart);
    EXPECT_FALSE(restarts.after_failover);
    EXPECT_EQ(restarts.longest_lease, 5s);
    const auto both = parse_lock_url("redis+sentinel://s1,s2/m?failover=grace").quarantine;
    EXPECT_TRUE(both.after_restart && both.after_failover);
    EXPECT_EQ(both.longest_lease, 60s);
    for (const auto* url :
         {"redis://h?failover=grace&restarts=trusted", "redis://h?restarts=trusted&failover=grace"})
        EXPECT_FALSE(parse_lock_url(url).quarantine.after_restart) << url;
    EXPECT_FALSE(parse_lock_url("redis://h?failover=best_effort&restarts=trusted").quarantine.wanted());
}

TEST(lock_url, names_a_server_or_a_cluster) {
    EXPECT_EQ(std::get<redis::node_config>(parse_lock_url("redis://h:1?restarts=quarantined").server).port,
              1);
    const auto all = parse_lock_url("redis+cluster://h:1,i");
    EXPECT_EQ(std::get<redis::cluster_config>(all.server).seeds.size(), 2U);
    EXPECT_FALSE(all.quarantine.wanted());
}

TEST(lock_url, error_names_the_mistake) {
    const struct {
        std::string_view url;
        std::string_view says;
    } table[] = {
        {"redis://h?restarts=no", "restarts=\"no\" is neither trusted nor quarantined"},
        {"redis://h?failover=no", "failover=\"no\" is neither best_effort nor grace"},
        {"redis://h?failover=grace&failover=best_effort", "failover is given twice"},
        {"redis://h?failover=grace&longest_lease=2h", "at most 1h"},
        {"redis://h?longest_lease=5s", "restarts=quarantined or failover=grace"},
        {"redis://h?failover=grace&longest_lease=0s", "above zero"},
        {"redis://h?restarts=trusted&restarts=trusted", "restarts is given twice"},
        {"redis://h?failover=grace&longest_lease=5s&longest_lease=5s", "longest_lease is given twice"},
        {"redis://h?colour=red",
         "the option \"colour\" is unknown; allowed are connect_timeout, command_timeout, name, db, "
         "restarts, "
         "failover and longest_lease."},
        {"unix:///s?colour=red", "failover and longest_lease, user and password."},
        {"redis+cluster://h,i?failover=grace", "take a redlock"},
        {"redis+cluster://h,i?colour=red", "restarts, failover and longest_lease."},
    };
    for (const auto& row : table) {
        try {
            (void)parse_lock_url(row.url);
            ADD_FAILURE() << row.url << " was accepted";
        } catch (const error& e) {
            EXPECT_EQ(e.code(), make_error_code(errc::invalid_argument)) << row.url;
            EXPECT_NE(std::string_view{e.what()}.find(row.says), std::string_view::npos)
                << row.url << " says: " << e.what();
        }
    }
}

}  // namespace
}  // namespace holdfast::redis_backend
