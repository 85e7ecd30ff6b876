// The URL of a store in a directory of lock files.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::file_backend {

// What a child process does with the locks of its parent.
enum class children {
    let_go,   // a killed holder frees its locks at once, whatever it has started
    hold_on,  // they stay held until the programs that the holder has started have ended, too, as with
              // flock(1)
};

struct url {
    std::string directory;     // absolute, without a slash at its end
    bool same_kernel = false;  // the user says that one kernel sees it, whatever its file system
    children started = children::let_go;
};

// "file:DIR", "file:DIR?same_kernel=yes", "file:DIR?children=hold_on". See backends/common/path_url.hpp.
// Throws holdfast::error (errc::invalid_argument).
[[nodiscard]] url parse_url(std::string_view text);

}  // namespace holdfast::file_backend
