#include "redis/protocol/info_text.hpp"

#include <algorithm>

namespace holdfast::redis {

std::string_view info_field(std::string_view info, std::string_view field) noexcept {
    while (!info.empty()) {
        auto line = info.substr(0, info.find('\n'));
        info.remove_prefix(std::min(info.size(), line.size() + 1));
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.size() > field.size() && line.starts_with(field) && line[field.size()] == ':')
            return line.substr(field.size() + 1);
    }
    return {};
}

}  // namespace holdfast::redis
