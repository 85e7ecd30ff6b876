#include "lab/play/mode_change.hpp"

#include "lab/play/protocol.hpp"

#include <holdfast/admin.hpp>
#include <holdfast/client.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>

namespace holdfast::lab {

int change_mode() {
    std::string line;
    if (!std::getline(std::cin, line)) return 0;
    const auto own = part_from(line);
    std::filesystem::current_path(own.folder);
    client group{own.joint_url()};
    admin::switch_mode(group, 1,
                       {.by = "the operator",
                        .reason = "a schedule of the lab",
                        .on_step = [](const admin::group_mode& mode) {
                            fmt::print("{}\n", mode.needed.size());
                            std::fflush(stdout);
                        }});
    return 0;
}

}  // namespace holdfast::lab
