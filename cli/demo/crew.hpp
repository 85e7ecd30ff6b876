// The service processes of a round: started with a job each, and followed line by line until they end.
#pragma once

#include "cli/process/scoped_process.hpp"
#include "cli/process/signals.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli::demo {

// A service is this program with these words. It reads its job, a line, from its standard input, and writes
// lines: "ready" when it waits for a line "go"; "failed WHY" before it exits with an error; all others are
// for `on_line`.
//
// Create it on the main thread. Each wait throws interrupted, and std::runtime_error if a service fails.
class crew {
  public:
    using line_handler = std::function<void(std::size_t of, std::string_view line)>;

    crew(signal_inbox& signals, const std::vector<std::string>& words, const std::vector<std::string>& jobs,
         line_handler on_line);

    void wait_until_ready();
    void go();
    // Returns after a line from the services or after this time.
    void listen(std::chrono::milliseconds at_most) { listen(static_cast<int>(at_most.count())); }
    [[nodiscard]] bool ended() const { return all(&service::ended); }
    void wait_for_the_end();

  private:
    struct service {
        std::optional<scoped_process> process;
        bool ready = false;
        bool ended = false;
    };

    [[nodiscard]] bool all(bool service::*what) const;
    void listen(int timeout_ms);
    void read_lines(std::size_t number);

    signal_inbox& signals_;
    const line_handler on_line_;
    std::deque<service> services_;
};

}  // namespace holdfast::cli::demo
