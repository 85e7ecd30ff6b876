// The errors that members of a redlock returned instead of an answer.
#pragma once

#include "store/requests.hpp"

#include <string>
#include <system_error>

namespace holdfast::redlock_backend {

class member_errors {
  public:
    // `who` is the address of the member, in printable form.
    void add(const std::string& who, const backend::failure& why);

    // An error that a person must fix, if there is one; else any.
    [[nodiscard]] const std::error_code& worst() const noexcept { return worst_; }
    // "a:1: ...; b:2: ..."
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

  private:
    std::error_code worst_;
    std::string text_;
};

}  // namespace holdfast::redlock_backend
