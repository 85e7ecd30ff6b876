#include "base/random.hpp"

#include "base/text.hpp"

#include <sys/random.h>
#include <cstddef>
#include <random>
#include <system_error>

namespace holdfast::base {

namespace {

std::string_view as_text(const std::array<std::uint8_t, 16>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

client_id client_id::make() {
    client_id id;
    for (std::size_t have = 0; have < id.bytes_.size();) {
        const auto n = ::getrandom(id.bytes_.data() + have, id.bytes_.size() - have, 0);
        if (n < 0 && errno != EINTR) throw std::system_error(errno, std::system_category(), "getrandom");
        if (n > 0) have += static_cast<std::size_t>(n);
    }
    // Version and variant as in RFC 4122, so that both spellings stand for the same bytes.
    id.bytes_[6] = static_cast<std::uint8_t>((id.bytes_[6] & 0x0f) | 0x40);
    id.bytes_[8] = static_cast<std::uint8_t>((id.bytes_[8] & 0x3f) | 0x80);
    return id;
}

std::string client_id::base64url() const { return to_base64url(as_text(bytes_)); }

std::string client_id::hex() const { return to_hex(as_text(bytes_)); }

std::string client_id::uuid() const {
    auto out = hex();
    for (const auto at : {8, 13, 18, 23}) out.insert(static_cast<std::size_t>(at), 1, '-');
    return out;
}

std::string client_id::base64url_of_uuid(std::string_view text) {
    if (text.size() != 36) return {};
    std::string digits{text};
    for (const auto at : {23U, 18U, 13U, 8U}) {
        if (digits[at] != '-') return {};
        digits.erase(at, 1);
    }
    const auto raw = from_hex(digits);
    return to_base64url(raw);
}

double jitter() noexcept {
    thread_local std::minstd_rand engine{std::random_device{}()};
    return std::uniform_real_distribution<double>{0.0, 1.0}(engine);
}

}  // namespace holdfast::base
