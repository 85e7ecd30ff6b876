// What members of a redlock said instead of an answer.
#pragma once

#include <holdfast/backend.hpp>

#include <string>
#include <system_error>

namespace holdfast::quorum_backend {

class objections {
  public:
    // `who` is the address of the member, as it may be shown.
    void add(const std::string& who, const backend::failure& why);

    // What somebody must mend, if there is such a thing.
    [[nodiscard]] const std::error_code& gravest() const noexcept { return gravest_; }
    // "a:1: ...; b:2: ..."
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

  private:
    std::error_code gravest_;
    std::string text_;
};

}  // namespace holdfast::quorum_backend
