// The wall clock of one process, which a test moves by LD_PRELOAD.
#pragma once

#include "lab/base/false_clock.hpp"
#include "support/child_process.hpp"
#include "support/eventually.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace holdfast::test {

class moved_clock {
  public:
    explicit moved_clock(std::string_view name) : clock_(folder_.path(), name) {}

    // For the process whose clock it is.
    [[nodiscard]] child_process::environment environment() const {
        child_process::environment all;
        for (const auto& line : clock_.environment())
            all.emplace_back(line.substr(0, line.find('=')), line.substr(line.find('=') + 1));
        return all;
    }
    void step(std::chrono::microseconds by) { clock_.step(by); }

  private:
    const temp_dir folder_;
    lab::false_clock clock_;
};

}  // namespace holdfast::test
