// Another library and holdfast lock one name in turn, and each holder adds one to a number in a file.
#pragma once

#include "support/background.hpp"
#include "support/eventually.hpp"
#include "support/peer.hpp"

#include <holdfast/holdfast.hpp>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <string>
#include <vector>

namespace holdfast::test {

inline std::chrono::milliseconds time_of_turns() {
    const char* const seconds = std::getenv("HOLDFAST_SOAK_SECONDS");
    return std::chrono::seconds{seconds == nullptr ? 3 : std::atoi(seconds)};
}

struct counted_turns {
    long ours = 0;
    long theirs = 0;
    long in_file = 0;  // ours + theirs, if no two were ever inside
};

// Two threads each. The name of the lock is the path of the file.
inline counted_turns take_turns(peer& they, client& c,
                                const std::function<lease(client&, const std::string& name)>& acquire) {
    const temp_dir folder;
    const auto path = (folder.path() / "count").string();
    std::ofstream{path} << 0;
    constexpr int threads = 2;
    const auto until = std::chrono::system_clock::now() + time_of_turns();
    auto theirs = they.ask("a", "turns", "mutex", path,
                           {threads, until.time_since_epoch() / std::chrono::milliseconds{1}});
    counted_turns counted;
    {
        std::vector<std::future<long>> crowd;
        for (int i = 0; i < threads; ++i) {
            crowd.push_back(in_background([&] {
                long n = 0;
                for (; std::chrono::system_clock::now() < until; ++n) {
                    const auto held = acquire(c, path);
                    long seen = 0;
                    std::ifstream{path} >> seen;
                    std::ofstream{path} << seen + 1;
                }
                return n;
            }));
        }
        for (auto& one : crowd) counted.ours += one.get();
    }
    counted.theirs = std::stol(theirs.get());
    std::ifstream{path} >> counted.in_file;
    return counted;
}

}  // namespace holdfast::test
