// Randomness: unguessable bytes for identities, cheap numbers for jitter.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::base {

// 128 bits from the kernel, and the two spellings that lock layouts need.
class client_id {
  public:
    [[nodiscard]] static client_id make();

    [[nodiscard]] std::string base64url() const;  // 22 characters, A-Z a-z 0-9 - _
    [[nodiscard]] std::string uuid() const;       // 36 characters, version 4, lower case

    [[nodiscard]] std::string hex() const;  // 32 characters, lower case

    // The other spelling of a client id; empty if `text` is not one.
    [[nodiscard]] static std::string base64url_of_uuid(std::string_view text);

  private:
    std::array<std::uint8_t, 16> bytes_{};
};

// Uniform in [0, 1). Not for secrets. Thread-safe, one generator per thread.
[[nodiscard]] double jitter() noexcept;

}  // namespace holdfast::base
