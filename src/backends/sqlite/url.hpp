// The URL of a store in an SQLite database.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::sqlite_backend {

struct url {
    std::string path;          // absolute
    bool same_kernel = false;  // the user says that one kernel sees the file, whatever its file system
};

// "sqlite:PATH" or "sqlite:PATH?same_kernel=yes". In PATH, %XX is the byte XX, for a '?' or '%' in a name.
// A relative path starts at the working directory of this moment. Throws holdfast::error
// (errc::invalid_argument).
[[nodiscard]] url parse_url(std::string_view text);

}  // namespace holdfast::sqlite_backend
