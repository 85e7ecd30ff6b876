// Commands in the form a server reads: RESP arrays of bulk strings, appended to a buffer.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
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

// Own template so that a bool or a char is not taken for a number by mistake.
template <std::integral T>
requires(!std::same_as<T, bool> && !std::same_as<T, char>) void append_argument(std::string& to, T number) {
    char text[24];
    const char* end = std::to_chars(text, text + sizeof text, number).ptr;
    append_argument(to, std::string_view{text, static_cast<std::size_t>(end - text)});
}

}  // namespace wire

// Appends one command. Allocates only if the buffer must grow.
inline void append_command(std::string& to, std::span<const std::string_view> args) {
    std::size_t size = 16;
    for (const auto arg : args) size += arg.size() + 16;
    to.reserve(to.size() + size);
    wire::append_header(to, '*', args.size());
    for (const auto arg : args) wire::append_argument(to, arg);
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
    std::size_t size = 128;
    for (const auto& words : {keys, args})
        for (const auto word : words) size += word.size() + 16;
    to.reserve(to.size() + size);
    wire::append_header(to, '*', 3 + keys.size() + args.size());
    wire::append_argument(to, std::string_view{"EVALSHA"});
    wire::append_argument(to, sha1);
    wire::append_argument(to, keys.size());
    for (const auto key : keys) wire::append_argument(to, key);
    for (const auto arg : args) wire::append_argument(to, arg);
}

}  // namespace holdfast::redis
