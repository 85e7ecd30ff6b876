// A connection to Redis as the articles' programs have one: send words, get the reply.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

struct redisContext;
struct redisReply;

namespace holdfast::lab {

class reply {
  public:
    explicit reply(const redisReply& from);

    // The key, or the field, does not exist.
    [[nodiscard]] bool nil() const noexcept { return nil_; }
    // What a status or a string says; of a number its digits.
    [[nodiscard]] const std::string& text() const noexcept { return text_; }
    [[nodiscard]] std::int64_t number() const noexcept { return number_; }
    [[nodiscard]] const std::vector<reply>& items() const noexcept { return items_; }

    // As redis-cli prints it, in one line.
    [[nodiscard]] std::string shown() const;

    friend bool operator==(const reply& r, std::string_view text) { return !r.nil_ && r.text_ == text; }
    friend bool operator==(const reply& r, int number) { return r.is_number_ && r.number_ == number; }

  private:
    bool nil_ = false;
    bool is_number_ = false;
    std::int64_t number_ = 0;
    std::string text_;
    std::vector<reply> items_;
};

using words = std::vector<std::string>;

[[nodiscard]] inline std::string word(std::string_view text) { return std::string{text}; }
[[nodiscard]] inline std::string word(std::chrono::milliseconds d) { return std::to_string(d.count()); }
[[nodiscard]] inline std::string word(std::integral auto number) { return std::to_string(number); }

// The text is what the server, or the system, says.
class command_failed : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// Nobody knows whether the server did what it was asked.
class connection_broken : public command_failed {
  public:
    using command_failed::command_failed;
};

// Thread safety: none. Everything throws command_failed if the server refuses, connection_broken if it cannot
// be reached or says no more.
class connection {
  public:
    explicit connection(const std::string& socket, const std::string& password = {});

    reply send(const words& command);

    // Waits so long for something that the server says of itself, such as a message of a channel. False: it
    // said nothing.
    bool receive(std::chrono::milliseconds at_most);

  private:
    struct closer {
        void operator()(redisContext* c) const noexcept;
    };
    std::unique_ptr<redisContext, closer> context_;
};

}  // namespace holdfast::lab
