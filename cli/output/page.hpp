// The output that people read: how wide it is, and whether it can show colours and more than ASCII.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace holdfast::cli {

enum class colour { none, good, bad, faint, strong };

// A terminal, or a file, a pipe and the like, which get plain lines. Thread safety: none.
class page {
  public:
    // A `quiet` page writes nothing.
    page(std::FILE* to, bool quiet);

    void put(const std::string& text) const;

    // The text in a colour, or unchanged without colours (no terminal, NO_COLOR, TERM=dumb).
    [[nodiscard]] std::string painted(const std::string& text, colour in) const;
    // Fills the text with spaces up to this many columns. A Chinese character takes two columns.
    [[nodiscard]] static std::string padded(const std::string& text, std::size_t columns);
    // Breaks the text into lines that fit, and indents all but the first.
    [[nodiscard]] std::string wrapped(const std::string& text, std::size_t indent) const;

    [[nodiscard]] bool terminal() const noexcept { return terminal_; }
    [[nodiscard]] bool colours() const noexcept { return colours_; }
    [[nodiscard]] bool unicode() const noexcept { return unicode_; }
    [[nodiscard]] std::size_t width() const noexcept { return width_; }

  private:
    std::FILE* to_;
    bool quiet_;
    bool terminal_;
    bool colours_;
    bool unicode_;
    std::size_t width_;
};

}  // namespace holdfast::cli
