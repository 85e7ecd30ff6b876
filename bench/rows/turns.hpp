// holdfast processes that take turns on one lock.
#pragma once

#include "crew.hpp"

#include <holdfast/holdfast.hpp>

#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::bench {

inline constexpr std::string_view shared_name = "bench:shared";

inline tally counted(const client_stats& s, const client_stats& before, std::uint64_t acquisitions) {
    const auto attempts = [](const client_stats& of) { return of.attempts.granted + of.attempts.busy; };
    return {acquisitions, s.commands_sent - before.commands_sent, attempts(s) - attempts(before)};
}

// A holdfast process with `threads` threads, each acquiring again at once.
template <class Lock, class Work, class... Options>
crew_body holdfast_process(config settings, int threads, Work work, Options... options) {
    return [=](int, shared_page& page, const std::function<void()>& ready) {
        client c{settings};
        Lock lock{c, std::string{shared_name}, options...};
        Lock warm{c, "bench:warm", options...};
        (void)warm.try_acquire_for(10s);
        const auto loop = [&](std::uint64_t& n) {
            while (!page.over.load(std::memory_order_relaxed)) {
                lock.lock();
                page.enter();
                work();
                page.leave();
                ++n;
                lock.unlock();
            }
        };
        const auto before = c.stats();
        ready();
        std::vector<std::uint64_t> counts(static_cast<std::size_t>(threads));
        if (threads == 1) {
            loop(counts[0]);
        } else {
            std::vector<std::jthread> crowd;
            for (auto& n : counts) crowd.emplace_back([&] { loop(n); });
        }
        std::uint64_t all = 0;
        for (const auto n : counts) all += n;
        return counted(c.stats(), before, all);
    };
}

// Turns of a crew, as a side of a row.
inline side turns(std::string label, redis_server& server, int processes, crew_body body) {
    return {std::move(label), [&server, processes, body = std::move(body)](milliseconds span) {
                auto s = run_crew(processes, span, body);
                for (const auto* key : {"bench:shared", "holdfast:p1:{bench:shared:permit}"})
                    if (server.command({"EXISTS", key}).number != 0)
                        throw std::runtime_error("the lock is still held after all have ended");
                return s;
            }};
}

// The same without a server. A process that takes the lock again at once has not handed it off.
inline side changes_of_owner(std::string label, int processes, crew_body body) {
    return {std::move(label), [processes, body = std::move(body)](milliseconds span) {
                auto s = run_crew(processes, 2 * span, body);
                s.value = s.extras.at("changes of owner per second");
                return s;
            }};
}

}  // namespace holdfast::bench
