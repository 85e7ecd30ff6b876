// A library that only some programs need, opened when the first of them asks for it.
#pragma once

#include <string>

namespace holdfast::base {

class client_library {
  public:
    // Throws holdfast::error (errc::invalid_argument) if there is no such file; `advice` is part of the text.
    client_library(const char* file, const char* what, const char* advice);

    // Throws in the same way. The library stays open.
    [[nodiscard]] void* function(const char* name) const;

  private:
    [[noreturn]] void refuse(const std::string& why) const;

    const char* const file_;
    const char* const for_;
    const char* const advice_;
    void* library_ = nullptr;
};

}  // namespace holdfast::base
