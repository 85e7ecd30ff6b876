#include "base/text.hpp"

#include <holdfast/error.hpp>
#include <holdfast/fence_check.hpp>
#include <holdfast/types.hpp>

#include <ctime>

namespace holdfast {

boot_clock::time_point boot_clock::now() noexcept {
    timespec ts{};
    ::clock_gettime(CLOCK_BOOTTIME, &ts);
    return time_point{std::chrono::seconds{ts.tv_sec} + std::chrono::nanoseconds{ts.tv_nsec}};
}

lock_name::lock_name(std::string_view bytes) : bytes_(bytes) {
    if (bytes.empty()) throw error(errc::invalid_argument, "a lock needs a name of at least one byte");
    if (bytes.size() > max_size) {
        throw error(errc::invalid_argument, "a lock's name has at most 1024 bytes, and \"" +
                                                base::printable(bytes.substr(0, 32)) + "...\" has " +
                                                std::to_string(bytes.size()));
    }
}

std::string_view to_string(strength s) noexcept {
    switch (s) {
        case strength::process_local: return "process_local";
        case strength::host_local: return "host_local";
        case strength::single: return "single";
        case strength::quorum: return "quorum";
        case strength::fenced_quorum: return "fenced_quorum";
    }
    return "unknown";
}

std::string lock_name::printable() const { return base::printable(bytes_); }

std::string owner_id::printable() const { return base::printable(bytes_); }

std::string to_text(fence f) {
    auto digits = std::to_string(to_number(f));
    return std::string(20 - digits.size(), '0') + digits;
}

}  // namespace holdfast
