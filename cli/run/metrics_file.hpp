// The metrics of `holdfast run`, in a file for the textfile collector of Prometheus's node_exporter.
#pragma once

#include <holdfast/types.hpp>

#include <optional>
#include <string>
#include <vector>

namespace holdfast::cli {

// How long the parts of a run took. Empty: it did not come to that.
struct run_times {
    std::optional<boot_clock::duration> waited{};  // for the locks
    std::optional<boot_clock::duration> ran{};     // the command
};

class metrics_file {
  public:
    // Throws std::system_error if no file can be made there: before the run, not after it.
    metrics_file(std::string path, const std::vector<std::string>& locks);

    // Replaces the file. A collector never sees half of it. What an earlier run with these locks wrote stays
    // true where this one has nothing new: the time of the last success. Throws std::system_error.
    void write(int exit_code, const run_times& times) const;

  private:
    [[nodiscard]] std::string text_of(double last_success, int exit_code, const run_times& times) const;

    std::string path_;
    std::string locks_;  // "a,b", printable
};

}  // namespace holdfast::cli
