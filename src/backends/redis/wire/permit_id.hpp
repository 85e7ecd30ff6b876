// How our clients write the id of a permit. Redisson accepts any 16 bytes; ours name the client that made
// them, from which alone inspect finds it. docs/wire/semaphores.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::redis_backend {

// The bytes: the beginning of the client's id (6), a mark (2), the serial in units of 1024 (8, big-endian).
// The other permits of a lease, at most 999, have the following numbers, and so the same client and serial.
struct permit_id {
    static constexpr std::size_t size = 16;
    static constexpr std::size_t client_size = 6;

    std::string client;
    std::int64_t serial = 0;  // microseconds since 1970, as in all our owners

    [[nodiscard]] std::string bytes() const {
        std::string all = client.substr(0, client_size);
        all += mark;
        const auto number = static_cast<std::uint64_t>(serial) << unit_bits;
        for (int shift = 56; shift >= 0; shift -= 8) all += static_cast<char>(number >> shift);
        return all;
    }
    // Empty if the id is not ours. An id of Java has the mark by chance once in 65,536 times.
    [[nodiscard]] static std::optional<permit_id> read(std::string_view bytes) {
        if (bytes.size() != size || bytes.substr(client_size, mark.size()) != mark) return std::nullopt;
        std::uint64_t number = 0;
        for (const char c : bytes.substr(client_size + mark.size()))
            number = number << 8 | static_cast<unsigned char>(c);
        return permit_id{std::string{bytes.substr(0, client_size)},
                         static_cast<std::int64_t>(number >> unit_bits)};
    }

  private:
    static constexpr std::string_view mark{"hf"};
    static constexpr int unit_bits = 10;
};

}  // namespace holdfast::redis_backend
