// The thread that reads Nacos begins and ends at any moment.
#include "fallback/nacos_source.hpp"

#include "io/reactor.hpp"
#include "support/eventually.hpp"
#include "support/fake_nacos.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

namespace holdfast::fallback {
namespace {

using namespace std::chrono_literals;
using test::eventually;
using test::patience;

class nacos_thread : public ::testing::Test {
  protected:
    [[nodiscard]] std::unique_ptr<nacos_source> open(std::chrono::milliseconds first_answer) {
        return std::make_unique<nacos_source>(reactor, server.url("switch"), first_answer,
                                              [this](const told&) { ++told_; });
    }
    void publish(int serial) {
        server.publish("switch", R"({"holdfast": 1, "serial": )" + std::to_string(serial) + "}");
    }

    test::fake_nacos server{test::nacos_centre::version::with_long_polls};
    std::atomic<int> told_{0};
    io::reactor reactor;
};

TEST_F(nacos_thread, tells_nothing_after_its_end) {
    for (int round = 1; round <= 40; ++round) {
        publish(round);
        auto source = open(round % 2 == 0 ? 0ms : 50ms);
        publish(100 + round);  // while the first document is read, or told
        source.reset();
        const int before = told_;
        reactor.run_and_wait([] {});
        EXPECT_EQ(told_, before);
    }
}

TEST_F(nacos_thread, tells_the_first_document_before_the_constructor_returns) {
    publish(1);
    const auto source = open(patience);
    EXPECT_EQ(told_, 1);
}

TEST_F(nacos_thread, leaves_no_thread_and_no_descriptor) {
    publish(1);
    const auto threads = test::count_threads();
    (void)open(patience);  // opens libcurl, which keeps descriptors
    const auto descriptors = test::count_open_fds();
    for (int i = 0; i < 5; ++i) (void)open(patience);
    EXPECT_TRUE(eventually(patience, [&] { return test::count_threads() <= threads; }));
    // The server has closed its ends of the connections a moment later.
    EXPECT_TRUE(eventually(patience, [&] { return test::count_open_fds() <= descriptors; }));
}

}  // namespace
}  // namespace holdfast::fallback
