// A server of each SQL database, and its clients.
#pragma once

#include "support/sql_server.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <system_error>

namespace holdfast::test {

inline config sql_settings(const std::string& url,
                           std::chrono::milliseconds lease = std::chrono::seconds{30}) {
    config how;
    how.url = url;
    how.lease = lease;
    return how;
}

// Clients that wait for the lock "stock".
inline std::size_t waiting(client& by) { return admin::inspect(by, "stock").queue.size(); }

// Empty: the lock was granted, and released again.
inline std::error_code refusal(mutex& lock) {
    std::error_code why;
    const auto held = lock.try_acquire(why);
    return held ? std::error_code{} : why;
}

class on_sql_server : public ::testing::TestWithParam<sql_kind> {
    const std::unique_ptr<sql_server> started_ = start_sql_server(GetParam());

  protected:
    sql_server& server = *started_;
};

// The tests of `suite` once for each database.
#define HOLDFAST_ON_EACH_SQL_SERVER(suite)                              \
    INSTANTIATE_TEST_SUITE_P(, suite, ::testing::ValuesIn(sql_kinds()), \
                             [](const auto& one) { return name_of(one.param); })

}  // namespace holdfast::test
