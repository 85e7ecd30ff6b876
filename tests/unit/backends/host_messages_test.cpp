// The messages between the processes of one machine, and the queue of delayed work.
#include "backends/common/message.hpp"
#include "backends/common/work_queue.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using namespace backends;

RC_GTEST_PROP(message, is_read_as_it_was_written, ()) {
    const auto field = [] {
        return *rc::gen::container<std::string>(
            rc::gen::oneOf(rc::gen::inRange('a', 'z'), rc::gen::just('|')));
    };
    message m;
    m.is = *rc::gen::element(message::what::handed_over, message::what::free, message::what::evict,
                             message::what::gave_up, message::what::drop, message::what::dropped);
    m.of = static_cast<kind>(*rc::gen::inRange(0, 10));
    m.owner = owner_id{field()};
    m.ticket = field();
    m.asker = field();
    m.name = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::arbitrary<char>()));
    RC_ASSERT((backends::message_of(to_text(m)) == std::optional{m}));
}

TEST(message, of_another_program_is_ignored) {
    for (const char* const text : {"", "h", "h 0 a 1 b", "x 0 a 1 b name", "h 10 a 1 b name",
                                   "h -1 a 1 b name", "h 0x a 1 b name", "hh 0 a 1 b name", "h 0 a 1 b "})
        EXPECT_FALSE(backends::message_of(text)) << text;
    EXPECT_FALSE(backends::message_of("h 0 a 1 b " + std::string(1025, 'n')));
    EXPECT_TRUE(backends::message_of("h 0 a 1 b name of many words"));
}

TEST(work_queue, goes_on_in_order_once_it_can) {
    io::reactor reactor;
    work_queue queue(reactor);
    std::atomic<bool> blocked{true};
    std::vector<int> order;  // by one thread at a time: the caller's, then the reactor's
    for (int i = 0; i < 3; ++i) {
        queue.run([&, i](const work_queue::attempt&) {
            if (blocked) return work_queue::outcome::try_again;
            order.push_back(i);
            return work_queue::outcome::done;
        });
    }
    EXPECT_TRUE(queue.has_work());
    blocked = false;
    EXPECT_TRUE(eventually(patience, [&] { return !queue.has_work(); }));
    queue.close();
    EXPECT_EQ(order, (std::vector{0, 1, 2}));
}

TEST(work_queue, attempts_everything_a_last_time_when_it_closes) {
    io::reactor reactor;
    work_queue queue(reactor);
    int last = 0;
    for (int i = 0; i < 2; ++i) {
        queue.run([&](const work_queue::attempt& how) {
            last += how.last ? 1 : 0;
            return work_queue::outcome::try_again;
        });
    }
    queue.close();
    EXPECT_EQ(last, 2);
    EXPECT_FALSE(queue.has_work());
}

}  // namespace
}  // namespace holdfast::test
