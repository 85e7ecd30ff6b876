// Why no lock is shared with programs that count the rows of an upsert: through Java's driver every owner
// gets it. The lab's rung "table" plays what follows from that (lab/rungs/table.cpp).
#ifdef HOLDFAST_HAS_MARIADB

#include "support/eventually.hpp"
#include "support/mariadb_server.hpp"
#include "support/peer.hpp"

#include <gtest/gtest.h>

#include <string>

namespace holdfast::test {
namespace {

class upsert_through_java : public ::testing::Test {
  protected:
    void SetUp() override {
        server.run(
            "CREATE TABLE distributed_lock"
            " (lock_key VARCHAR(255) PRIMARY KEY, owner VARCHAR(255), expire_time TIMESTAMP(3) NULL)");
    }
    std::string rows_with(const std::string& option) {
        auto java = start_upserts(
            "jdbc:mysql://127.0.0.1:" + std::to_string(server.port()) + "/locks?sslMode=DISABLED" + option,
            "holdfast");
        EXPECT_EQ(java.wait(patience), 0) << java.errors();
        return java.output();
    }
    std::string owner() { return server.run("SELECT owner FROM distributed_lock")[0][0]; }

    mariadb_server server;
};

TEST_F(upsert_through_java, tells_every_owner_that_it_has_the_lock) {
    EXPECT_EQ(rows_with(""), "A 1\nB 1\n") << "rows that were found count, too";
    EXPECT_EQ(owner(), "A");
}

TEST_F(upsert_through_java, tells_who_has_the_lock_if_asked_for_affected_rows) {
    EXPECT_EQ(rows_with("&useAffectedRows=true"), "A 1\nB 0\n");
    EXPECT_EQ(owner(), "A");
}

}  // namespace
}  // namespace holdfast::test

#endif
