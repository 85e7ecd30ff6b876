// The lab as people read it on a terminal.
#pragma once

#include "cli/stage/page.hpp"
#include "lab/rung.hpp"
#include "lab/timeline.hpp"
#include "lab/trial.hpp"

#include <string>

namespace holdfast::lab {

// How often a schedule went as predicted on one of its schemes.
struct tally {
    const rung* of;
    const schedule* played;
    casting cast;
    int runs = 0;
    int as_predicted = 0;
    outcome last;
};

class story {
  public:
    explicit story(const cli::stage::page& on) : page_(on) {}

    void list() const;
    void open(const rung& rung) const;
    void open(const schedule& schedule) const;
    void tell(const schedule& schedule, const outcome& what) const;
    // A table, line by line as it is known.
    void head() const;
    void tell_line(const tally& one) const;

  private:
    void events(const record& seen) const;
    void draw(const timeline& lanes) const;
    void verdict(const schedule& schedule, const outcome& what) const;
    [[nodiscard]] std::string cells(const lane& of) const;

    const cli::stage::page& page_;
};

}  // namespace holdfast::lab
