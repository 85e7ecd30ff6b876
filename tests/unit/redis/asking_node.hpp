// Helpers for tests of a node: ask and wait for the answer, and record its events.
#pragma once

#include "base/parker.hpp"
#include "redis/node/node.hpp"

#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <vector>

namespace holdfast::redis {

using namespace std::chrono_literals;

inline time_point in(boot_clock::duration d) { return boot_clock::now() + d; }

// The answer to one command, which may come after its asker has left.
struct answer {
    base::parker asker;
    std::atomic<int> times{0};
    outcome value;

    [[nodiscard]] bool here() const { return times.load(std::memory_order_acquire) > 0; }
    [[nodiscard]] const reply* as_reply() const { return here() ? std::get_if<reply>(&value) : nullptr; }
    [[nodiscard]] const not_sent* as_not_sent() const {
        return here() ? std::get_if<not_sent>(&value) : nullptr;
    }
    [[nodiscard]] const no_answer* as_no_answer() const {
        return here() ? std::get_if<no_answer>(&value) : nullptr;
    }
    [[nodiscard]] std::string text() const {
        if (!here()) return "(no answer yet)";
        if (const auto* r = as_reply()) return r->is_integer() ? std::to_string(r->integer()) : r->text();
        return as_not_sent() != nullptr ? "not sent: " + as_not_sent()->text
                                        : "no answer: " + as_no_answer()->text;
    }
};
using answer_ptr = std::shared_ptr<answer>;

inline reply_handler into(const answer_ptr& a) {
    return [a](outcome o) {
        a->value = std::move(o);
        a->times.fetch_add(1, std::memory_order_release);
        a->asker.unpark();
    };
}

// Sends and does not wait; the reactor reads the reply.
inline answer_ptr send(node& n, std::initializer_list<std::string_view> args,
                       boot_clock::duration limit = test::patience) {
    const auto a = std::make_shared<answer>();
    n.command(args, in(limit), into(a));
    return a;
}

inline bool run_io_until_here(node& n, answer& a, time_point until) {
    while (!a.here() && boot_clock::now() < until) {
        n.run_io(a.asker, until);
        a.asker.consume();
    }
    return a.here();
}

// Sends and reads the reply on this thread.
inline answer_ptr ask(node& n, std::initializer_list<std::string_view> args,
                      boot_clock::duration limit = test::patience) {
    const will_run_io here;
    const auto a = std::make_shared<answer>();
    const auto until = in(limit);
    n.command(args, until, into(a));
    run_io_until_here(n, *a, until);
    return a;
}

// All events that a node reported about its connection.
class node_events {
  public:
    [[nodiscard]] std::function<void(const node_event&)> listener() {
        return [this](const node_event& e) {
            const std::lock_guard hold{mutex_};
            events_.push_back(e);
        };
    }
    [[nodiscard]] std::size_t count(node_event::what kind) const {
        const std::lock_guard hold{mutex_};
        return static_cast<std::size_t>(
            std::count_if(events_.begin(), events_.end(), [&](const auto& e) { return e.kind == kind; }));
    }
    [[nodiscard]] bool soon(node_event::what kind, std::size_t times = 1) const {
        return test::eventually(test::patience, [&] { return count(kind) >= times; });
    }
    [[nodiscard]] node_event last(node_event::what kind) const {
        const std::lock_guard hold{mutex_};
        for (auto it = events_.rbegin(); it != events_.rend(); ++it)
            if (it->kind == kind) return *it;
        return {};
    }

  private:
    mutable std::mutex mutex_;
    std::vector<node_event> events_;
};

inline node_config config_for(std::uint16_t port) {
    node_config c;
    c.command_timeout = test::patience;  // longer than a test holds replies back
    c.port = port;
    c.client_name = "node-test";
    return c;
}

}  // namespace holdfast::redis
