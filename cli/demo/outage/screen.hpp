// Shows the outage: on a terminal one line that is updated, and a timeline after each round.
#pragma once

#include "cli/demo/outage/round.hpp"
#include "cli/output/page.hpp"

#include <cstdio>
#include <string>
#include <vector>

namespace holdfast::cli::demo::outage {

class screen {
  public:
    screen(std::FILE* to, const outage_plan& what, bool quiet);

    void introduce();
    void show(const outage_progress& now);
    void conclude(const outage_round& round);
    void sum_up(const std::vector<outage_round>& rounds);
    // Clears an unfinished line.
    void clear_line();

  private:
    [[nodiscard]] static std::string heading(scheme how);
    [[nodiscard]] std::string timeline(const outage_round& round) const;
    [[nodiscard]] std::string modes(const outage_round& round) const;

    page page_;
    const outage_plan& what_;
    bool line_open_ = false;
    double plain_written_at_ = 0;  // without a terminal: seconds since the start of the round
};

}  // namespace holdfast::cli::demo::outage
