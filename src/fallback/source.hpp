// A source of documents: the file or the configuration centre that config::switch_source names.
#pragma once

#include "fallback/document.hpp"

#include <functional>
#include <string>
#include <variant>

namespace holdfast::fallback {

// There is no document, or the source does not let us read it.
struct unreadable {
    std::string why;
};
// It can be read again, and says what it said before; or it can be read, but later than it could be.
struct readable {
    std::string how{};  // empty: as usual
};
using told = std::variant<document, bad_document, unreadable, readable>;

// Reads until it is destroyed, and calls a handler on the reactor's thread with what is new.
class source {
  public:
    using handler = std::function<void(const told&)>;

    source() = default;
    source(const source&) = delete;
    source& operator=(const source&) = delete;
    virtual ~source() = default;
};

}  // namespace holdfast::fallback
