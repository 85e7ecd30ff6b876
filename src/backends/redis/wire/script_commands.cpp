#include "backends/redis/wire/script_commands.hpp"

#include <algorithm>

namespace holdfast::redis_backend {

std::vector<script_command> commands_of(std::string_view script) {
    using on_refusal = script_command::on_refusal;
    constexpr std::string_view call = "call('";
    std::vector<script_command> found;
    for (auto at = script.find(call); at != std::string_view::npos; at = script.find(call, at + 1)) {
        const auto from = at + call.size();
        const auto name = script.substr(from, script.find('\'', from) - from);
        // pcall returns the refusal, call ends the script.
        const auto then = at > 0 && script[at - 1] == 'p' ? on_refusal::goes_on : on_refusal::fails;
        const auto known =
            std::find_if(found.begin(), found.end(), [&](const auto& c) { return c.name == name; });
        if (known == found.end())
            found.push_back({std::string{name}, then});
        else
            known->then = std::max(known->then, then);
    }
    return found;
}

}  // namespace holdfast::redis_backend
