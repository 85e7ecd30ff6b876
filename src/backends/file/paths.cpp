#include "backends/file/paths.hpp"

#include "base/text.hpp"

#include <openssl/sha.h>

#include <array>
#include <utility>

namespace holdfast::file_backend {

namespace {

constexpr std::string_view own = ".holdfast";
constexpr std::string_view hashed = ".holdfast-";
constexpr std::size_t longest = 240;

bool is_file_name(std::string_view name) {
    return name.size() <= longest && name.find('/') == std::string_view::npos &&
           name.find('\0') == std::string_view::npos && name != "." && name != ".." && !name.starts_with(own);
}

}  // namespace

paths::paths(std::string directory)
    : directory_(std::move(directory)), private_(directory_ + '/' + std::string{own}) {}

std::string paths::lock(std::string_view file) const {
    std::string path;
    path.reserve(directory_.size() + 1 + file.size());
    path.append(directory_).append(1, '/').append(file);
    return path;
}

std::string paths::beside(side what, std::string_view file) const {
    const std::string_view suffix = what == side::fence     ? ".fence"
                                    : what == side::permits ? ".permits"
                                                            : ".name";
    std::string path;
    path.reserve(private_.size() + 1 + file.size() + suffix.size());
    path.append(private_).append(1, '/').append(file).append(suffix);
    return path;
}

std::string paths::file_of(const lock_name& name) {
    const auto& text = name.str();
    if (is_file_name(text)) return text;
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    ::SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
    return std::string{hashed} + base::to_hex({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

bool paths::is_hashed(std::string_view file) { return file.starts_with(hashed); }

bool paths::may_be_lock(std::string_view file) { return is_hashed(file) || is_file_name(file); }

}  // namespace holdfast::file_backend
