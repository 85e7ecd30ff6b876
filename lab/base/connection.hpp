// A connection to Redis like that of the articles' programs: send a command, get the reply.
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
    // The text of a status or a string, or the digits of a number.
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

using arguments = std::vector<std::string>;

[[nodiscard]] inline std::string argument(std::string_view text) { return std::string{text}; }
[[nodiscard]] inline std::string argument(std::chrono::milliseconds d) { return std::to_string(d.count()); }
[[nodiscard]] inline std::string argument(std::integral auto number) { return std::to_string(number); }

// what() is the message of the server or of the system.
class command_failed : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// It is unknown whether the server ran the command.
class connection_broken : public command_failed {
  public:
    using command_failed::command_failed;
};

// Thread safety: none. All functions throw command_failed if the server refuses, connection_broken if it
// cannot be reached or stops replying.
class connection {
  public:
    explicit connection(const std::string& socket, const std::string& password = {});

    reply send(const arguments& command);

    // Waits at most this long for pushed data, such as a message of a channel. False: none came.
    bool receive(std::chrono::milliseconds at_most);

  private:
    struct closer {
        void operator()(redisContext* c) const noexcept;
    };
    std::unique_ptr<redisContext, closer> context_;
};

}  // namespace holdfast::lab
