// The client processes of a run, seen from its parent.
#pragma once

#include "chaos/history/event.hpp"
#include "chaos/runner/client.hpp"
#include "support/child_process.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace holdfast::chaos {

// Not thread-safe: children live as long as the thread that started them.
class crew {
  public:
    using milliseconds = std::chrono::milliseconds;

    // Processes are numbered from 1; `how` is what all have in common.
    crew(client_settings how, unsigned size, std::filesystem::path folder);

    // All clients record a new round.
    void begin(std::uint64_t round);
    // Lets all threads finish what they do. False: some had not within the limit.
    [[nodiscard]] bool drain(milliseconds limit);
    // Returns what all clients recorded in this round, killed ones too. Removes the files.
    [[nodiscard]] std::vector<event> collect();
    // Ends all clients. Returns their complaints.
    [[nodiscard]] std::vector<std::string> dismiss(milliseconds limit);

    [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
    void stop(unsigned which);
    void go_on(unsigned which);
    // Returns its number.
    std::uint32_t kill(unsigned which);
    // Starts another client in its place.
    void replace(unsigned which);
    // The clients that ended without being killed, and how.
    [[nodiscard]] std::vector<std::string> dead();

  private:
    struct member {
        std::uint32_t process;
        test::child_process child;
        bool killed = false;
    };

    [[nodiscard]] member start(unsigned which);
    void send_round(member& m);

    client_settings how_;
    std::filesystem::path folder_;
    std::uint32_t started_ = 0;
    std::uint64_t round_ = 0;
    std::vector<std::filesystem::path> files_;  // of this round
    std::vector<member> members_;
};

}  // namespace holdfast::chaos
