// Which commands a script calls: the rights (ACL) that it needs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis_backend {

struct script_command {
    std::string name;  // "ZADD"
    enum class on_refusal {
        goes_on,  // the script handles the refusal
        fails,
    } then;
};

// Each command once: it counts as one whose refusal fails the script if any call of it does.
[[nodiscard]] std::vector<script_command> commands_of(std::string_view script);

}  // namespace holdfast::redis_backend
