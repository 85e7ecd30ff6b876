#include "cli/output/error_output.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <system_error>

namespace holdfast::cli {
namespace {

std::string message_for(std::errc what, int code) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(report_error(std::system_error{make_error_code(what), "eventfd"}), code);
    return testing::internal::GetCapturedStderr();
}

TEST(ErrorOutput, about_an_exhausted_resource_is_71_and_says_how_to_get_more) {
    EXPECT_EQ(
        message_for(std::errc::too_many_files_open, 71),
        "holdfast: eventfd: Too many open files; no more files and sockets may be opened here: raise the "
        "limit (ulimit -n)\n");
    EXPECT_NE(message_for(std::errc::too_many_files_open_in_system, 71).find("fs.file-max"),
              std::string::npos);
    EXPECT_NE(message_for(std::errc::resource_unavailable_try_again, 71).find("ulimit -u"),
              std::string::npos);
    EXPECT_NE(message_for(std::errc::not_enough_memory, 71).find("no memory left"), std::string::npos);
}

// std::thread has the code of the system in the generic category.
TEST(ErrorOutput, about_a_thread_that_cannot_be_started_is_71) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(report_error(std::system_error{EAGAIN, std::system_category()}), 71);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("ulimit -u"), std::string::npos);
}

TEST(ErrorOutput, about_a_store_that_nobody_chose_names_one_that_needs_no_server) {
    const error refused{errc::unavailable, "no connection"};
    testing::internal::CaptureStderr();
    EXPECT_EQ(report_error(refused, store_choice::by_default), 69);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("sqlite:PATH"), std::string::npos);
    testing::internal::CaptureStderr();
    EXPECT_EQ(report_error(refused), 69);
    EXPECT_EQ(testing::internal::GetCapturedStderr().find("sqlite:PATH"), std::string::npos);
}

TEST(ErrorOutput, about_a_store_in_files_speaks_of_no_server) {
    for (const auto* const url : {"sqlite:/run/app/locks.db", "file:/run/lock/app"}) {
        for (const auto code : {errc::unavailable, errc::no_permission, errc::out_of_memory,
                                errc::busy_server, errc::wrong_kind}) {
            const error refused{code, "it was refused"};
            testing::internal::CaptureStderr();
            EXPECT_NE(report_error(refused, store_of(url)), 0);
            const auto text = testing::internal::GetCapturedStderr();
            for (const auto* const word : {"server", "password", "key"})
                EXPECT_EQ(text.find(word), std::string::npos) << url << ' ' << text;
        }
    }
    testing::internal::CaptureStderr();
    EXPECT_EQ(report_error(error{errc::out_of_memory, "it was refused"}, store_of("redis://db")), 69);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("server"), std::string::npos);
}

TEST(ErrorOutput, about_any_other_system_error_is_70) {
    EXPECT_EQ(message_for(std::errc::bad_file_descriptor, 70), "holdfast: eventfd: Bad file descriptor\n");
}

TEST(ErrorOutput, exit_code_for_an_exception_is_71_if_a_resource_is_exhausted) {
    for (const auto what : {EMFILE, ENFILE, ENOMEM, EAGAIN}) {
        EXPECT_EQ(exit_code_for(std::system_error{what, std::generic_category()}), 71) << what;
        EXPECT_EQ(exit_code_for(std::system_error{what, std::system_category()}), 71) << what;
        EXPECT_NE(exit_code_for(error{{what, category()}, "of another category"}), 71) << what;
    }
    EXPECT_EQ(exit_code_for(std::bad_alloc{}), 71);
    EXPECT_EQ(exit_code_for(std::system_error{EBADF, std::generic_category()}), 70);
    EXPECT_EQ(exit_code_for(std::runtime_error{"a bug"}), 70);
    EXPECT_EQ(exit_code_for(error{errc::unavailable, "as report_error() has it"}), 69);
}

}  // namespace
}  // namespace holdfast::cli
