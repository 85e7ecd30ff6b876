#include "chaos/runner/client.hpp"

#include "chaos/runner/worker.hpp"

#include <csignal>
#include <cstdio>
#include <iostream>
#include <thread>

namespace holdfast::chaos {

int run_client(const client_settings& how) {
    std::signal(SIGINT, SIG_IGN);  // the parent receives it, and ends this process
    be_careless(how.locks.care);
    std::unique_ptr<subject_set> locks;
    locks = how.locks.subject == "holdfast" ? open_holdfast(how.locks) : open_lab(how.locks);
    resource guarded{how.resource};
    process_state shared{*locks,          locks_of(how.locks.subject, how.locks.topology),
                         guarded,         how.process,
                         how.locks.lease, how.only_locks};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < how.threads; ++t)
        threads.emplace_back([&, t] { worker{shared, t, dice{how.seed, {how.process, t}}}.run(); });

    constexpr std::string_view round = "round ";
    for (std::string line; std::getline(std::cin, line);) {
        if (line.starts_with(round)) {
            shared.open(line.substr(round.size()));
        } else if (line == "drain") {
            shared.close();
            std::puts("drained");
            std::fflush(stdout);
        }
    }
    shared.end();
    for (auto& t : threads) t.join();
    return 0;
}

}  // namespace holdfast::chaos
