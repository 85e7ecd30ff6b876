// The client library of a database, opened when the program runs.
#pragma once

#include <string>

namespace holdfast::sql_backend {

class client_library {
  public:
    // Throws holdfast::error (errc::invalid_argument) if there is no such file; `advice` is part of the text.
    client_library(const char* file, const char* store, const char* advice);

    // Throws in the same way. The library stays open.
    [[nodiscard]] void* function(const char* name) const;

  private:
    [[noreturn]] void refuse(const std::string& why) const;

    const char* const file_;
    const char* const store_;
    const char* const advice_;
    void* library_ = nullptr;
};

}  // namespace holdfast::sql_backend
