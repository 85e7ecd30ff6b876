// The URL of a store in an SQLite database.
#include "backends/sqlite/url.hpp"
#include "support/errors.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace holdfast::sqlite_backend {
namespace {

using test::code_of;

TEST(sqlite_url, names_a_file) {
    EXPECT_EQ(parse_url("sqlite:/run/app/locks.db").path, "/run/app/locks.db");
    EXPECT_EQ(parse_url("sqlite:///run/app/locks.db").path, "/run/app/locks.db");
    EXPECT_EQ(parse_url("sqlite:locks.db").path, (std::filesystem::current_path() / "locks.db").string());
    EXPECT_EQ(parse_url("sqlite:/run/a%3Fb%25c").path, "/run/a?b%c");
    EXPECT_FALSE(parse_url("sqlite:/run/locks.db").same_kernel);
    EXPECT_TRUE(parse_url("sqlite:/run/locks.db?same_kernel=yes").same_kernel);
}

TEST(sqlite_url, that_cannot_be_meant_is_refused) {
    for (const char* const url :
         {"sqlite:", "sqlite:?same_kernel=yes", "sqlite:%00", "sqlite:/a%3", "sqlite:/a%xy",
          "sqlite::memory:", "sqlite://host/locks.db", "sqlite:/a?mode=memory"})
        EXPECT_EQ(code_of([&] { (void)parse_url(url); }), errc::invalid_argument) << url;
}

}  // namespace
}  // namespace holdfast::sqlite_backend
