// What members of a redlock said instead of an answer, for people.
#include "backends/quorum/objections.hpp"

#include <holdfast/error.hpp>

#include <gtest/gtest.h>

namespace holdfast::quorum_backend {
namespace {

TEST(objections, name_the_member_whose_words_they_are_once) {
    objections all;
    EXPECT_FALSE(all.gravest());
    EXPECT_EQ(all.text(), "");
    all.add("10.0.0.1:6379", {make_error_code(errc::no_permission), {}, "NOPERM no right to scan"});
    all.add("10.0.0.2:6379", {make_error_code(errc::unavailable), "the connection to 10.0.0.2:6379 broke"});
    EXPECT_EQ(all.text(), "10.0.0.1:6379: NOPERM no right to scan; the connection to 10.0.0.2:6379 broke");
}

TEST(objections, have_the_reason_that_somebody_must_mend) {
    objections all;
    all.add("a:1", {make_error_code(errc::unavailable)});
    EXPECT_EQ(all.gravest(), errc::unavailable);
    all.add("b:2", {make_error_code(errc::no_permission)});
    all.add("c:3", {make_error_code(errc::unavailable)});
    EXPECT_EQ(all.gravest(), errc::no_permission);
}

}  // namespace
}  // namespace holdfast::quorum_backend
