#include "backends/common/local_file_system.hpp"

#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>

namespace holdfast::backends {

namespace {

struct known {
    long magic;
    std::string_view name;
};

// Of <linux/magic.h> and statfs(2); some are not in Debian's headers.
constexpr std::array local_ones{
    known{0xef53, "ext4"},        known{0x58465342, "xfs"},   known{0x9123683e, "btrfs"},
    known{0xf2f52010, "f2fs"},    known{0x01021994, "tmpfs"}, known{0x2fc12fc1, "zfs"},
    known{0x794c7630, "overlay"}, known{0x858458f6, "ramfs"}, known{0xca451a4e, "bcachefs"},
};
constexpr std::array shared_ones{
    known{0x6969, "NFS"},        known{0xff534d42, "CIFS"}, known{0xfe534d42, "SMB"},
    known{0x65735546, "FUSE"},   known{0x01021997, "9p"},   known{0x00c36400, "Ceph"},
    known{0x0bd00bd0, "Lustre"}, known{0x47504653, "GPFS"}, known{0x01161970, "GFS2"},
    known{0x7461636f, "OCFS2"},  known{0x5346414f, "AFS"},  known{0x786f4256, "vboxsf"},
};

}  // namespace

std::optional<std::string> shared_file_system(const std::string& directory) {
    struct statfs about {};
    if (::statfs(directory.c_str(), &about) != 0)
        throw std::system_error(errno, std::generic_category(), directory);
    const auto magic = static_cast<long>(about.f_type);
    const auto is = [magic](const known& k) { return k.magic == magic; };
    if (std::any_of(local_ones.begin(), local_ones.end(), is)) return std::nullopt;
    if (const auto it = std::find_if(shared_ones.begin(), shared_ones.end(), is); it != shared_ones.end())
        return std::string{it->name};
    std::array<char, 32> number{};
    std::snprintf(number.data(), number.size(), "0x%lx", static_cast<unsigned long>(magic));
    return "a file system that holdfast does not know (" + std::string{number.data()} + ")";
}

}  // namespace holdfast::backends
