// A reply of a Redis server as a value, and the parser that makes it from bytes.
#pragma once

#include "redis/protocol/size_caps.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis {

// A RESP2 reply, as a plain value.
class reply {
  public:
    enum class type : std::uint8_t {
        nil,      // $-1 or *-1
        integer,  // :1
        text,     // +OK or $2\r\nhi
        error,    // -ERR ...; the server refused, and text() says why
        array,    // *2 ...; also the replies to several commands of one request
    };

    reply() = default;
    [[nodiscard]] static reply of(std::int64_t n);
    [[nodiscard]] static reply of(std::string text);
    [[nodiscard]] static reply of_error(std::string text);
    [[nodiscard]] static reply of(std::vector<reply> items);

    [[nodiscard]] type kind() const noexcept { return type_; }
    [[nodiscard]] bool is_nil() const noexcept { return type_ == type::nil; }
    [[nodiscard]] bool is_integer() const noexcept { return type_ == type::integer; }
    [[nodiscard]] bool is_text() const noexcept { return type_ == type::text; }
    [[nodiscard]] bool is_error() const noexcept { return type_ == type::error; }
    [[nodiscard]] bool is_array() const noexcept { return type_ == type::array; }

    // 0 unless is_integer().
    [[nodiscard]] std::int64_t integer() const noexcept { return integer_; }
    // The text of a text or an error; empty otherwise.
    [[nodiscard]] const std::string& text() const& noexcept { return text_; }
    [[nodiscard]] std::string text() && noexcept { return std::move(text_); }
    // The elements of an array; empty otherwise.
    [[nodiscard]] std::span<const reply> items() const noexcept { return items_; }
    [[nodiscard]] std::vector<reply> take_items() && noexcept { return std::move(items_); }

    friend bool operator==(const reply&, const reply&) = default;

  private:
    friend struct reply_builder;

    type type_ = type::nil;
    std::int64_t integer_ = 0;
    std::string text_;
    std::vector<reply> items_;
};

// Turns bytes into replies. Used by one thread at a time. Does not trust the lengths that a server announces:
// memory grows with the bytes that arrived, and more than `size_caps` allows is an error. An error is final;
// make a new parser for the new connection.
class parser {
  public:
    enum class result {
        got,        // `out` is a whole reply
        need_more,  // feed more bytes
        error,      // not the Redis protocol; error_text() has the reason
    };

    explicit parser(const size_caps& caps = {});
    parser(const parser&) = delete;
    parser& operator=(const parser&) = delete;
    ~parser();

    void feed(std::string_view bytes);
    [[nodiscard]] result next(reply& out);
    [[nodiscard]] const std::string& error_text() const noexcept { return error_; }

  private:
    struct state;
    std::unique_ptr<state> state_;
    std::string error_;
};

}  // namespace holdfast::redis
