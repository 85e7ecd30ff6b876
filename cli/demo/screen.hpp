// Shows the demo: on a terminal with colours and one line that is updated, elsewhere as plain lines.
#pragma once

#include "cli/demo/plan.hpp"
#include "cli/demo/round.hpp"
#include "cli/output/page.hpp"

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli::demo {

class screen {
  public:
    // `to` is the output for people: stdout, or stderr when stdout gets JSON. A `quiet` screen writes
    // nothing.
    screen(std::FILE* to, const plan& what, bool quiet);

    void introduce();
    void show(const progress& now);
    void conclude(const round_result& round);
    // The table, and what went wrong and why.
    void sum_up(const std::vector<round_result>& rounds);
    // Clears an unfinished line.
    void clear_line();

  private:
    [[nodiscard]] std::string painted(const std::string& text, colour in) const;
    [[nodiscard]] colour colour_of(const round_result& round) const;
    [[nodiscard]] std::string heading(protection guard) const;
    [[nodiscard]] static std::string_view where(demo_store on);
    [[nodiscard]] std::string bar(double share) const;
    [[nodiscard]] std::string table(const std::vector<round_result>& rounds) const;
    [[nodiscard]] std::string wrapped(const std::string& text, std::size_t indent) const;
    void put(const std::string& text);

    page page_;
    const plan& what_;

    bool line_open_ = false;       // on a terminal
    double plain_written_at_ = 0;  // elsewhere: seconds since the start of the round
};

}  // namespace holdfast::cli::demo
