// What tests of `holdfast run` share.
#pragma once

#include "server/cli_scene.hpp"

#include <string>

namespace holdfast::test::cli {

class run_command : public command_test {};

// Shell commands that make descriptor 3 a full pipe whose reader, $!, never reads.
inline std::string full_pipe_in(const temp_dir& folder) {
    const auto fifo = (folder.path() / "fifo").string();
    return "mkfifo " + fifo + "; sleep 1000 <" + fifo + " & exec 3>" + fifo + "; dd if=/dev/zero of=" + fifo +
           " bs=64k count=1 2>/dev/null oflag=nonblock; ";
}

}  // namespace holdfast::test::cli
