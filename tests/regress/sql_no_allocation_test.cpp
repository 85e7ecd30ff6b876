// One allocation of a caller fails, or all from then on, while it sends a statement or reads the answer: the
// statement has an end all the same.
#ifdef HOLDFAST_HAS_MARIADB

#include "backends/mariadb/connection.hpp"
#include "io/reactor.hpp"
#include "regress/failing_allocations.hpp"
#include "support/eventually.hpp"
#include "support/mariadb_server.hpp"

#include <gtest/gtest.h>

#include <future>
#include <new>
#include <optional>

#include <poll.h>
#include <sys/socket.h>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using sql_backend::outcome;

class statement_without_memory : public ::testing::TestWithParam<failure> {
  protected:
    // Another session for each failure.
    void connect(bool reactor_reads) {
        at_reactor.run_and_wait([this] {
            if (session) session->close({make_error_code(errc::closed), {}, {}});
        });
        const base::wake_fd stop;
        session = std::make_shared<mariadb_backend::connection>(
            mariadb_backend::make_session(
                {.to = mariadb_backend::parse_url(server.url()), .answer_timeout = 2s}, stop),
            2s);
        at_reactor.run_and_wait([&] {
            session->start(at_reactor, sockets,
                           {{}, {}, {}, [=](sql_backend::connection&) { return reactor_reads; }});
        });
        answered = false;
    }
    void TearDown() override {
        at_reactor.run_and_wait([this] { session->close({make_error_code(errc::closed), {}, {}}); });
    }
    // False: it was not sent, and the caller knows.
    bool send(const char* sql) try {
        sql_backend::request one{
            {}, boot_clock::now() + 10s, [this](const outcome&) { answered = true; }, sql};
        return session->send(one);
    } catch (const std::bad_alloc&) {
        return false;
    }

    mariadb_server server;
    sql_backend::open_sockets sockets;
    io::reactor at_reactor;
    std::shared_ptr<mariadb_backend::connection> session;
    std::atomic<bool> answered{false};
};
INSTANTIATE_TEST_SUITE_P(, statement_without_memory,
                         ::testing::Values(failure::of_one_allocation, failure::of_all_from_then_on),
                         [](const auto& which) {
                             return which.param == failure::of_one_allocation ? "one" : "all";
                         });

// Its answer is there at once: the connection is broken, and the reactor has not noticed yet.
TEST_P(statement_without_memory, has_an_end_when_it_fails_at_once) {
    bool sent = false;
    each_failure(
        GetParam(),
        [&] {
            std::optional<std::promise<void>> go_on;
            with_memory([&] {
                connect(true);
                go_on.emplace();
                const auto waits = std::make_shared<std::promise<void>>();
                at_reactor.post([waits, over = go_on->get_future().share()] {
                    waits->set_value();
                    over.wait();
                });
                waits->get_future().wait();
                (void)::shutdown(session->descriptor(), SHUT_RDWR);
            });
            sent = send("SELECT 1");
            with_memory([&] { go_on->set_value(); });
        },
        [&] { EXPECT_TRUE(!sent || eventually(20s, [&] { return answered.load(); })); });
    EXPECT_TRUE(sent);
}

TEST_P(statement_without_memory, has_an_end_when_its_answer_cannot_be_read) {
    const int met = each_failure(
        GetParam(),
        [&] {
            with_memory([&] {
                // If the answer is there at once, the reactor reads it.
                do {
                    connect(false);
                    ASSERT_TRUE(send("SELECT 'one', 'two', 'a text that is longer than a short string'"));
                    at_reactor.run_and_wait([] {});
                } while (answered);
            });
            const auto until = boot_clock::now() + 1s;
            while (!answered && session->descriptor() >= 0 && boot_clock::now() < until) {
                pollfd fd{session->descriptor(), POLLIN, 0};
                if (::poll(&fd, 1, 100) > 0) session->read_some();
            }
        },
        [&] { EXPECT_TRUE(eventually(20s, [&] { return answered.load(); })); });
    EXPECT_GT(met, 2);
}

}  // namespace
}  // namespace holdfast::test

#endif
