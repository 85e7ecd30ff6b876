#include "slow_disk.hpp"

#include <filesystem>
#include <string>

namespace holdfast::bench {

namespace fs = std::filesystem;

// A copy, because the server may run as a user who may not read the folder of the build.
slow_disk::slow_disk(std::chrono::microseconds by) : by_(by) {
    const auto shim = folder_.path() / "fdatasync.so";
    fs::copy_file(HOLDFAST_FDATASYNC_SHIM, shim);
    constexpr auto readable = fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec;
    for (const auto& one : {folder_.path(), shim}) fs::permissions(one, readable);
}

test::child_process::environment slow_disk::environment() const {
    return {{"LD_PRELOAD", (folder_.path() / "fdatasync.so").string()},
            {"HOLDFAST_FDATASYNC_US", std::to_string(by_.count())}};
}

}  // namespace holdfast::bench
