// Changes the mode of a joint store, beside all other faults.
#pragma once

#include "chaos/history/event.hpp"
#include "chaos/runner/precautions.hpp"

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::chaos {

// Goes on while the arbiter does not answer, and turns back when another level is wanted meanwhile.
class mode_operator {
  public:
    // Both as clients have them, past all links. All clients of `group` begin with level 0.
    mode_operator(std::string joint_url, std::string arbiter_url, precautions care);
    mode_operator(const mode_operator&) = delete;
    mode_operator& operator=(const mode_operator&) = delete;
    ~mode_operator();

    // Level 0 or 1: the one that was not wanted before.
    void want_the_other();
    // Changes the mode to and fro, until `rest` or until it has made this many changes since it began. No
    // change turns back half-way.
    void keep_changing(std::size_t most);
    void rest();
    // Returns when the level is reached that is wanted. Throws what made that impossible.
    void await();
    // From when a level was wanted to when it was reached.
    [[nodiscard]] std::vector<span_of_time> changes();

  private:
    void run();
    void want(std::size_t level);
    [[nodiscard]] bool goes_on() const { return changes_.size() < most_ && reached_ == wanted_; }

    const std::string joint_url_, arbiter_url_;
    const precautions care_;

    std::mutex mutex_;  // guards what follows
    std::condition_variable changed_;
    std::size_t wanted_ = 0;
    std::optional<std::size_t> reached_ = 0;  // empty: it is between the levels
    std::size_t at_ = 0;                      // the last level that was reached
    std::size_t most_ = 0;                    // changes, while it makes them by itself
    time_ns wanted_since_ = 0;
    std::vector<span_of_time> changes_;
    bool ends_ = false;
    std::exception_ptr wrong_;

    std::thread thread_;
};

}  // namespace holdfast::chaos
