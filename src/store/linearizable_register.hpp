// A few words that all clients of a store agree on: for example which of several stores is to be used now.
// Every read sees the latest change, also one that another client made a moment ago through another server.
#pragma once

#include "store/requests.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::backend {

[[nodiscard]] constexpr bool is_register_name(std::string_view name) noexcept {
    constexpr std::size_t longest = 64;
    constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    return !name.empty() && name.size() <= longest &&
           name.find_first_not_of(allowed) == std::string_view::npos;
}

struct register_value {
    std::uint64_t version = 0;  // 0: nobody has written yet. Each change has a version that no other had
    std::string text;

    friend bool operator==(const register_value&, const register_value&) = default;
};

// Requests work as in store.hpp. A name has up to 64 letters, digits, '-', '_' and '.' (is_register_name): no
// store needs to escape it.
class linearizable_register {
  public:
    linearizable_register() = default;
    linearizable_register(const linearizable_register&) = delete;
    linearizable_register& operator=(const linearizable_register&) = delete;
    virtual ~linearizable_register() = default;

    static constexpr std::size_t longest_text = 8'192;

    // Answers what the register holds. The answer was true at some moment between the request and the answer,
    // by the word of what decides about changes: never from a replica, nor from a server that was cut off or
    // stopped meanwhile. `known` is what the caller read last: a store may ask whether that is still true.
    // A failure: it is not known.
    virtual void read(std::string_view name, const register_value& known, time_point deadline,
                      handler<result<register_value>>) = 0;

    // Writes `text` if the version is `expected` at that moment. Answers what the register holds afterwards:
    // another client was faster if that is not `text`. errc::unknown_outcome: it may have been written, now
    // or up to engine::longest_on_its_way later; read again. Any other failure: nothing was changed.
    virtual void change(std::string_view name, std::uint64_t expected, std::string_view text,
                        time_point deadline, handler<result<register_value>>) = 0;
};

}  // namespace holdfast::backend
