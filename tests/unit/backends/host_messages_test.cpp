// The messages between the processes of one machine, and the queue of delayed work.
#include "backends/common/message.hpp"
#include "backends/common/work_queue.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {
namespace {

using namespace backends;
using namespace std::chrono_literals;

constexpr auto never = io::time_point::max();

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
        queue.run("file", never, [&, i](const work_queue::attempt&) {
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
        queue.run("file", never, [&](const work_queue::attempt& how) {
            last += how.last ? 1 : 0;
            return work_queue::outcome::try_again;
        });
    }
    queue.close();
    EXPECT_EQ(last, 2);
    EXPECT_FALSE(queue.has_work());
}

// As of a process that was stopped during its turn at one file.
TEST(work_queue, goes_on_at_one_file_while_it_cannot_at_another) {
    io::reactor reactor;
    work_queue queue(reactor);
    std::atomic<bool> blocked{true};
    std::atomic<int> done{0};
    queue.run("one", never, [&](const work_queue::attempt&) {
        return blocked ? work_queue::outcome::try_again : work_queue::outcome::done;
    });
    const auto of_two = [&](const work_queue::attempt&) {
        return ++done == 1 ? work_queue::outcome::try_again : work_queue::outcome::done;
    };
    queue.run("two", never, of_two);
    EXPECT_TRUE(eventually(patience, [&] { return done == 2; }));
    queue.run("two", never, of_two);
    EXPECT_EQ(done, 3) << "by the caller itself: nothing waits for that file";
    EXPECT_TRUE(queue.has_work());
    blocked = false;
    EXPECT_TRUE(eventually(patience, [&] { return !queue.has_work(); }));
    queue.close();
}

TEST(work_queue, tells_work_that_its_deadline_has_passed_also_behind_other_work) {
    io::reactor reactor;
    work_queue queue(reactor);
    std::atomic<bool> late{false};
    queue.run("file", never, [](const work_queue::attempt& how) {
        return how.last ? work_queue::outcome::done : work_queue::outcome::try_again;
    });
    queue.run("file", boot_clock::now() + 20ms, [&](const work_queue::attempt& how) {
        EXPECT_TRUE(how.late) << "it was not its turn before";
        late = how.late;
        return work_queue::outcome::done;
    });
    EXPECT_TRUE(eventually(patience, [&] { return late.load(); }));
    EXPECT_TRUE(queue.has_work());
    queue.close();
}

}  // namespace
}  // namespace holdfast::test
