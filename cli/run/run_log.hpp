// The output of `holdfast run` itself: sentences on stderr and, with --json-fd, a line of JSON per event.
#pragma once

#include "cli/process/line_sink.hpp"

#include <nlohmann/json.hpp>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::cli {

// Only wait() and the destructor block, see line_sink. Thread safety: none.
class run_log {
  public:
    run_log(std::optional<int> json_fd, bool verbose);
    // Gives slow readers a moment to read the rest.
    ~run_log();
    run_log(const run_log&) = delete;
    run_log& operator=(const run_log&) = delete;

    // Writes one event as JSON: "event" and "at" come first, then `fields`.
    void write_event(std::string_view event,
                     const nlohmann::ordered_json& fields = nlohmann::ordered_json::object());
    // Writes a sentence for people.
    void say(std::string_view sentence);
    // The same, but only with --verbose.
    void mention(std::string_view sentence);

    // Blocks until one of the descriptors is readable or a slow reader has made room, and writes lines that
    // wait for slow readers.
    void wait(std::initializer_list<int> readable);

    [[nodiscard]] bool verbose() const noexcept { return verbose_; }

  private:
    line_sink people_;
    std::optional<line_sink> programs_;
    bool verbose_;
};

}  // namespace holdfast::cli
