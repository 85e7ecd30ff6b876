// Writes the lab for people on a terminal.
#pragma once

#include "cli/lab/results.hpp"
#include "cli/output/page.hpp"
#include "lab/language.hpp"
#include "lab/rungs/rung.hpp"
#include "lab/trial.hpp"

#include <string>
#include <string_view>

namespace holdfast::lab {

class story {
  public:
    story(const cli::page& on, language spoken) : page_(on), spoken_(spoken) {}

    void list() const;
    void open(const rung& rung) const;
    void open(const schedule& schedule) const;
    void tell(const schedule& schedule, const outcome& what) const;
    // Says why holdfast did not play the schedule, if it did not.
    void tell_not_played(const schedule& schedule) const;
    // A table: its head, then each line as soon as it is known.
    void head() const;
    void tell_line(const rung& rung, const schedule& schedule, const tally& one) const;
    // Below the table: each play that did not go as predicted or did not end, and why.
    void tell_reasons(const results& all) const;

    [[nodiscard]] std::string translated(std::string_view english) const { return in(spoken_, english); }

  private:
    void events(const record& seen) const;
    void say(const std::string& head, cli::colour in, const std::string& rest) const;
    void verdict(const schedule& schedule, const outcome& what) const;

    [[nodiscard]] std::string line_of(const event& seen) const;

    const cli::page& page_;
    language spoken_;
};

}  // namespace holdfast::lab
