#include "backends/file/failures.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace holdfast::file_backend {

namespace {

errc kind_of(int system_error) {
    switch (system_error) {
        case ENOSPC:
        case EDQUOT:
        case ENOLCK:
        case ENOMEM: return errc::out_of_memory;
        case EACCES:
        case EPERM:
        case EROFS: return errc::no_permission;
        case EISDIR:
        case ELOOP:
        case ENXIO:
        case ENODEV: return errc::wrong_kind;
        default: return errc::unavailable;
    }
}

// df shows free space then, so the system's own message would mislead. File systems without a fixed number of
// inodes report zero of zero.
bool lacks_inodes(const std::string& directory) {
    struct statvfs about {};
    return ::statvfs(directory.c_str(), &about) == 0 && about.f_files != 0 && about.f_favail == 0;
}

}  // namespace

backend::failure failure_of(int system_error, const std::string& path, const std::string& directory) {
    const auto code = make_error_code(kind_of(system_error));
    struct stat about {};
    if ((system_error == ENOENT || system_error == ENOTDIR) && ::stat(directory.c_str(), &about) != 0)
        return {code, "the directory " + directory + " does not exist any more"};
    if (system_error == ELOOP) return {code, path + " is a symbolic link"};
    if (system_error == EISDIR) return {code, path + " is a directory"};
    if (system_error == ENXIO || system_error == ENODEV) return {code, path + " is no regular file"};
    auto text = path + ": " + std::generic_category().message(system_error);
    if (system_error == ENOSPC && lacks_inodes(directory)) text += ", because no inode is left";
    return {code, std::move(text)};
}

}  // namespace holdfast::file_backend
