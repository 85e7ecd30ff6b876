#include "cli/process/line_sink.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>
#include <csignal>

namespace holdfast::cli {
namespace {

// A pipe whose reading end the test reads on demand.
class LineSinkTest : public testing::Test {
  protected:
    LineSinkTest() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
        reader_ = unique_fd{ends[0]};
        writer_ = unique_fd{ends[1]};
    }
    std::string read_all() {
        ::fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
        std::string all;
        std::array<char, 4096> part{};
        for (ssize_t n = 0; (n = ::read(reader_.get(), part.data(), part.size())) > 0;) {
            all.append(part.data(), static_cast<std::size_t>(n));
        }
        return all;
    }

    unique_fd reader_;
    unique_fd writer_;
};

TEST_F(LineSinkTest, writes_immediately_while_the_reader_keeps_up) {
    line_sink sink{writer_.get()};
    sink.put("one");
    sink.put("two");
    EXPECT_FALSE(sink.wants_to_write());
    EXPECT_EQ(read_all(), "one\ntwo\n");
}

TEST_F(LineSinkTest, does_not_block_on_a_full_pipe_and_drops_whole_lines) {
    line_sink sink{writer_.get()};
    const std::string line(1000, 'x');
    for (int i = 0; i < 1000; ++i) sink.put(line);
    EXPECT_TRUE(sink.wants_to_write());
    EXPECT_GT(sink.dropped(), 0U);

    std::string got;
    while (sink.wants_to_write()) {
        got += read_all();
        sink.flush();
    }
    got += read_all();
    EXPECT_EQ(got.size(), (1000 - sink.dropped()) * 1001);
}

TEST_F(LineSinkTest, leaves_the_users_descriptor_blocking) {
    line_sink sink{writer_.get()};
    EXPECT_EQ(::fcntl(writer_.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(LineSinkTest, closed_reader_is_ignored) {
    struct sigaction ignore {
    }, before{};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGPIPE, &ignore, &before);
    line_sink sink{writer_.get()};
    reader_.reset();
    sink.put("one");
    EXPECT_FALSE(sink.wants_to_write());
    ::sigaction(SIGPIPE, &before, nullptr);
}

TEST(LineSink, closed_descriptor_is_ignored) {
    line_sink sink{-1};
    sink.put("one");
    EXPECT_FALSE(sink.wants_to_write());
}

}  // namespace
}  // namespace holdfast::cli
