#include "backends/redis/wire/keys.hpp"

namespace holdfast::redis_backend {

std::string helper_key(char what, std::string_view name) {
    std::string key;
    key.reserve(name.size() + 24);
    key.append("holdfast:").append(1, what);
    if (hash_tag(name).size() != name.size())
        key.append(":").append(name);
    else if (name.find('}') == std::string_view::npos)
        key.append("1:{").append(name).append("}");
    else
        key.append("2:{").append(redis::tag_of(slot_of(name))).append("}").append(name);
    return key;
}

std::string_view purpose_of_own_key(std::string_view key) noexcept {
    if (key == promotion_mark)
        return "the key under which clients note since when a promoted server has been the master";
    if (key == quorum_mark || (key.starts_with(quorum_mark) && key[quorum_mark.size()] == ':'))
        return "the key under which the clients of a redlock agree on its members";
    return {};
}

bool is_helper_key(std::string_view key) noexcept {
    if (!purpose_of_own_key(key).empty()) return true;
    constexpr std::string_view prefix = "holdfast:", kinds = "dfopq";
    if (!key.starts_with(prefix) || key.size() < prefix.size() + 2) return false;
    if (kinds.find(key[prefix.size()]) == std::string_view::npos) return false;
    const auto rest = key.substr(prefix.size() + 1);
    return rest.starts_with(":") || rest.starts_with("1:{") || rest.starts_with("2:{");
}

std::string operation_key(std::string_view name, std::string_view operation) {
    return helper_key('o', name).append(":").append(operation);
}

bool redisson_shares_slot(std::string_view name) noexcept {
    const bool tagged = hash_tag(name).size() != name.size();
    return tagged || name.find_first_of("{}") == std::string_view::npos;
}

std::string redisson_prefixed(std::string_view prefix, std::string_view name) {
    std::string key{prefix};
    if (name.find('{') != std::string_view::npos)
        key.append(":").append(name);
    else
        key.append(":{").append(name).append("}");
    return key;
}

std::string redisson_suffixed(std::string_view name, std::string_view suffix) {
    std::string key;
    if (name.find('{') != std::string_view::npos)
        key.append(name).append(":").append(suffix);
    else
        key.append("{").append(name).append("}:").append(suffix);
    return key;
}

std::array<std::string, 4> companion_keys(const std::string& name) {
    return {helper_key('p', name), redisson_suffixed(name, "timeout"),
            redisson_prefixed("redisson_lock_queue", name), redisson_prefixed("redisson_lock_token", name)};
}

}  // namespace holdfast::redis_backend
