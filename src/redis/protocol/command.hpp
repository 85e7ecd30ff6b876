// Encodes commands as RESP arrays of bulk strings, appended to a buffer.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::redis {

namespace wire {

inline void append_header(std::string& to, char type, std::uint64_t n) {
    char text[24];
    text[0] = type;
    char* end = std::to_chars(text + 1, text + sizeof text - 2, n).ptr;
    *end++ = '\r';
    *end++ = '\n';
    to.append(text, static_cast<std::size_t>(end - text));
}

inline void append_argument(std::string& to, std::string_view bytes) {
    append_header(to, '$', bytes.size());
    to.append(bytes);
    to.append("\r\n", 2);
}

// A template, so that a bool or a char is not accepted as a number by mistake.
template <std::integral T>
requires(!std::same_as<T, bool> && !std::same_as<T, char>) void append_argument(std::string& to, T number) {
    char text[24];
    const char* end = std::to_chars(text, text + sizeof text, number).ptr;
    append_argument(to, std::string_view{text, static_cast<std::size_t>(end - text)});
}

}  // namespace wire

// Writes arguments into preallocated space: a command is mostly small pieces, and growing a string for each
// of them takes longer than the rest of sending it.
class argument_writer {
  public:
    // Reserves space for a header and `words` words, of `bytes` in all.
    argument_writer(std::string& to, std::size_t words, std::size_t bytes) : to_(to), used_(to.size()) {
        to_.resize(used_ + bytes + (words + 1) * most_around);
        at_ = to_.data() + used_;
    }
    argument_writer(const argument_writer&) = delete;
    argument_writer& operator=(const argument_writer&) = delete;
    ~argument_writer() { to_.resize(static_cast<std::size_t>(at_ - to_.data())); }

    void header(char type, std::size_t n) noexcept {
        *at_++ = type;
        if (n < 100) {
            if (n >= 10) *at_++ = static_cast<char>('0' + n / 10);
            *at_++ = static_cast<char>('0' + n % 10);
        } else {
            at_ = std::to_chars(at_, at_ + 20, n).ptr;
        }
        end_line();
    }
    void word(std::string_view bytes) noexcept {
        header('$', bytes.size());
        std::memcpy(at_, bytes.data(), bytes.size());
        at_ += bytes.size();
        end_line();
    }

  private:
    static constexpr std::size_t most_around = 26;  // type, twenty digits, two line ends

    void end_line() noexcept {
        *at_++ = '\r';
        *at_++ = '\n';
    }

    std::string& to_;
    const std::size_t used_;
    char* at_;
};

// Appends one command.
inline void append_command(std::string& to, std::span<const std::string_view> args) {
    std::size_t bytes = 0;
    for (const auto arg : args) bytes += arg.size();
    argument_writer w(to, args.size(), bytes);
    w.header('*', args.size());
    for (const auto arg : args) w.word(arg);
}

// append_command(buffer, "SET", name, token, "PX", 30000): strings and integers.
template <class... Args>
requires(sizeof...(Args) > 0) && (!std::convertible_to<Args, std::span<const std::string_view>> &&
                                  ...) void append_command(std::string& to, const Args&... args) {
    wire::append_header(to, '*', sizeof...(args));
    (wire::append_argument(to, args), ...);
}

// EVALSHA sha n keys... args...
inline void append_evalsha(std::string& to, std::string_view sha1, std::span<const std::string_view> keys,
                           std::span<const std::string_view> args) {
    char count[20];
    const std::string_view how_many{
        count, static_cast<std::size_t>(std::to_chars(count, count + sizeof count, keys.size()).ptr - count)};
    std::size_t bytes = sizeof "EVALSHA" + sha1.size() + how_many.size();
    for (const auto& words : {keys, args})
        for (const auto word : words) bytes += word.size();
    argument_writer w(to, 3 + keys.size() + args.size(), bytes);
    w.header('*', 3 + keys.size() + args.size());
    w.word("EVALSHA");
    w.word(sha1);
    w.word(how_many);
    for (const auto key : keys) w.word(key);
    for (const auto arg : args) w.word(arg);
}

}  // namespace holdfast::redis
