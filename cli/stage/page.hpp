// Where people read: how wide it is, and whether it takes colours and more than ASCII.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace holdfast::cli::stage {

enum class colour { none, good, bad, faint, strong };

// A terminal, or a file, a pipe and the like, which get plain lines. Thread safety: none.
class page {
  public:
    // `quiet` says nothing at all.
    page(std::FILE* to, bool quiet);

    void put(const std::string& text) const;

    // As it is where there are no colours (no terminal, NO_COLOR, TERM=dumb).
    [[nodiscard]] std::string painted(const std::string& text, colour in) const;
    // Spaces fill the text up to so many columns, of which a Chinese character takes two.
    [[nodiscard]] static std::string padded(const std::string& text, std::size_t columns);
    // Lines that fit, all but the first indented.
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

}  // namespace holdfast::cli::stage
