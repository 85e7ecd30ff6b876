// Which of the texts that a source reads are news.
#pragma once

#include "fallback/source.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::fallback {

// Each document, bad document and obstacle is told once. A text that was there before the source was
// unreadable is no news when it is back: an operator may have decided otherwise meanwhile. A document must
// not have a lower serial than the last good one. Not thread-safe.
class document_filter {
  public:
    // Whether the source was read last, and had this text.
    [[nodiscard]] bool knows(const std::string& text) const { return text_ == text && unreadable_.empty(); }
    // Empty: nothing is new.
    [[nodiscard]] std::optional<told> on_text(const std::string& text);
    [[nodiscard]] std::optional<told> on_unreadable(const std::string& why);

  private:
    std::optional<std::string> text_;  // the last one that was told
    std::string unreadable_;           // why, as it was told; empty: it was read since
    std::optional<std::uint64_t> serial_;
};

}  // namespace holdfast::fallback
