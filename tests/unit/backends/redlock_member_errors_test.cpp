// The errors that members of a redlock returned, as text for people.
#include "backends/redlock/member_errors.hpp"

#include <holdfast/error.hpp>

#include <gtest/gtest.h>

namespace holdfast::redlock_backend {
namespace {

TEST(member_errors, name_each_member_once) {
    member_errors all;
    EXPECT_FALSE(all.worst());
    EXPECT_EQ(all.text(), "");
    all.add("10.0.0.1:6379", {make_error_code(errc::no_permission), {}, "NOPERM no right to scan"});
    all.add("10.0.0.2:6379", {make_error_code(errc::unavailable), "the connection to 10.0.0.2:6379 broke"});
    EXPECT_EQ(all.text(), "10.0.0.1:6379: NOPERM no right to scan; the connection to 10.0.0.2:6379 broke");
}

TEST(member_errors, report_an_error_that_somebody_must_fix) {
    member_errors all;
    all.add("a:1", {make_error_code(errc::unavailable)});
    EXPECT_EQ(all.worst(), errc::unavailable);
    all.add("b:2", {make_error_code(errc::no_permission)});
    all.add("c:3", {make_error_code(errc::unavailable)});
    EXPECT_EQ(all.worst(), errc::no_permission);
}

}  // namespace
}  // namespace holdfast::redlock_backend
