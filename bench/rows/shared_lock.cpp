// Processes that take turns on one lock.
#include "raw.hpp"
#include "rows/rows.hpp"
#include "rows/turns.hpp"

#include <holdfast/holdfast.hpp>

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace holdfast::bench {

namespace {

constexpr auto no_work = [] {};

// What most lock libraries do: a message wakes all waiters, and all ask at once. As lean as possible.
crew_body herd(std::uint16_t port) {
    return [port](int index, shared_page& page, const std::function<void()>& ready) {
        static constexpr redis_scripts::script release{
            "release",
            "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) "
            "redis.call('PUBLISH', KEYS[2], '') return 1 end return 0",
            {}};
        raw_connection commands{port}, messages{port};
        commands.add("SCRIPT", "LOAD", release.text);
        const std::string sha{commands.ask().substr(5, 40)};
        messages.add("SUBSCRIBE", "bench:herd");
        (void)messages.ask();
        const auto token = "herd-" + std::to_string(index);
        tally t;
        ready();
        while (!page.over.load(std::memory_order_relaxed)) {
            for (;;) {
                commands.add("SET", shared_name, token, "NX", "PX", "30000");
                ++t.commands;
                ++t.attempts;
                if (commands.ask().starts_with('+')) break;
                // One message ends the wait; others that have arrived by now add nothing.
                if (messages.read_for(1'000).empty()) continue;
                while (!messages.read_for(0).empty()) {
                }
            }
            page.enter();
            page.leave();
            ++t.acquisitions;
            redis::append_command(commands.to_send, "EVALSHA", std::string_view{sha}, 2, shared_name,
                                  std::string_view{"bench:herd"}, std::string_view{token});
            ++t.commands;
            if (commands.ask() != ":1\r\n") throw std::runtime_error("the herd lost its lock");
        }
        return t;
    };
}

// A semaphore of one permit, with the interface of a lock.
class one_permit {
  public:
    one_permit(client& on, const std::string& name) : of_(on, name + permit_suffix) {
        of_.try_set_permits(1);
    }
    [[nodiscard]] bool try_acquire_for(milliseconds wait) {
        return static_cast<bool>(of_.try_acquire_for(wait));
    }
    void lock() { mine_ = of_.acquire(); }
    void unlock() { mine_.release(); }

    static constexpr const char* permit_suffix = ":permit";

  private:
    counting_semaphore of_;
    lease mine_;
};

// Long enough that two processes do not differ by chance.
side with_longer_span(side of) {
    of.run = [run = std::move(of.run)](milliseconds span) { return run(4 * span); };
    return of;
}

struct rows_of_processes : row {
    rows_of_processes(std::vector<side> s, std::vector<target> t) {
        sides = std::move(s);
        targets = std::move(t);
    }
};

}  // namespace

std::unique_ptr<row> handed_over(redis_server& server) {
    const config settings{.url = server.url()};
    return std::make_unique<rows_of_processes>(
        std::vector{turns("herd: a message wakes all", server, 32, herd(server.port())),
                    turns("mutex", server, 32, holdfast_process<mutex>(settings, 1, no_work)),
                    turns("mutex, fenced", server, 32,
                          holdfast_process<mutex>(settings, 1, no_work, mutex_options{.fenced = true}))},
        std::vector<target>{{"mutex", target::kind::ratio_at_least, 6},
                            {"mutex", target::kind::extra_at_most, 3.2, "commands per acquisition"},
                            {"mutex", target::kind::extra_at_most, 0.1, "refused attempts per acquisition"},
                            {"mutex", target::kind::extra_at_least, 0.95, "least / most of a process"}});
}

std::unique_ptr<row> hot_lock(redis_server& server) {
    const config with{.url = server.url()};
    auto without = with;
    without.local_turns = 1;
    return std::make_unique<rows_of_processes>(
        std::vector{
            turns("mutex, no hand-over inside", server, 2, holdfast_process<mutex>(without, 16, no_work)),
            turns("mutex", server, 2, holdfast_process<mutex>(with, 16, no_work)),
            turns("mutex, fenced", server, 2,
                  holdfast_process<mutex>(with, 16, no_work, mutex_options{.fenced = true})),
            turns("recursive_mutex", server, 2, holdfast_process<recursive_mutex>(with, 16, no_work))},
        std::vector<target>{{"mutex", target::kind::ratio_at_least, 4},
                            {"mutex", target::kind::extra_at_least, 0.35, "smallest share of the whole"}});
}

std::unique_ptr<row> recursive_turns(redis_server& server) {
    const auto one_ms = [] {
        const auto until = std::chrono::steady_clock::now() + 1ms;
        while (std::chrono::steady_clock::now() < until) std::this_thread::sleep_until(until);
    };
    auto all =
        with_longer_span(turns("recursive_mutex", server, 8,
                               holdfast_process<recursive_mutex>(config{.url = server.url()}, 1, one_ms)));
    return std::make_unique<rows_of_processes>(
        std::vector{std::move(all)}, std::vector<target>{{"recursive_mutex", target::kind::extra_at_least,
                                                          0.5, "least / most of a process"}});
}

std::unique_ptr<row> fair_turns(redis_server& server) {
    return std::make_unique<rows_of_processes>(
        std::vector{turns("herd: a message wakes all", server, 8, herd(server.port())),
                    with_longer_span(turns("fair_mutex", server, 8,
                                           holdfast_process<fair_mutex>({.url = server.url()}, 1, no_work)))},
        std::vector<target>{{"fair_mutex", target::kind::extra_at_least, 0.95, "least / most of a process"}});
}

std::unique_ptr<row> semaphore_turns(redis_server& server) {
    return std::make_unique<rows_of_processes>(
        std::vector{turns("herd: a message wakes all", server, 8, herd(server.port())),
                    turns("counting_semaphore", server, 8,
                          holdfast_process<one_permit>({.url = server.url()}, 1, no_work))},
        std::vector<target>{});
}

}  // namespace holdfast::bench
