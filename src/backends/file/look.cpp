#include "backends/file/look.hpp"

#include "backends/file/failures.hpp"
#include "backends/file/side_files.hpp"
#include "base/owned_fd.hpp"
#include "base/text.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

namespace holdfast::file_backend {

using namespace backend;

namespace {

constexpr auto initial_pid_namespace = 0xeffffffcU;  // PROC_PID_INIT_INO of the kernel

failure no_table() {
    return {make_error_code(errc::no_permission),
            "/proc/locks cannot be read, and nothing else shows holders"};
}

// stat(2) shows a device for each subvolume of btrfs, the table one for all.
bool has_device_of_its_own(const std::string& path) {
    constexpr long btrfs = 0x9123683e;
    struct statfs about {};
    return ::statfs(path.c_str(), &about) == 0 && about.f_type == btrfs;
}

const locks_of_file* find(const lock_table& table, const struct stat& about, const std::string& path) {
    const file_id id{major(about.st_dev), minor(about.st_dev), about.st_ino};
    if (const auto it = table.find(id); it != table.end()) return &it->second;
    const auto same_inode = std::find_if(
        table.begin(), table.end(), [&](const auto& entry) { return entry.first.inode == about.st_ino; });
    return same_inode != table.end() && has_device_of_its_own(path) ? &same_inode->second : nullptr;
}

bool same_holders(const locks_of_file* a, const locks_of_file* b) {
    if (a == nullptr || b == nullptr) return a == b;
    return a->held == b->held && a->marks == b->marks;
}

// The table shows a process only those of its own pid namespace and below: in a container, a lock that
// nobody seems to hold may be held outside of it. To ask the kernel means to have the lock for a moment, so a
// process that sees all others does not ask.
bool is_held_invisibly(const std::string& path) {
    struct stat about {};
    if (::stat("/proc/self/ns/pid", &about) != 0 || about.st_ino == initial_pid_namespace) return false;
    const base::owned_fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)};
    return fd && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

locks_of_file known_or_invisible(const locks_of_file* known, const std::string& path) {
    if (known != nullptr) return *known;
    locks_of_file locks;
    if (is_held_invisibly(path)) locks.held.push_back({0, true});
    return locks;
}

}  // namespace

result<locks_of_file> kernel_locks_of(const paths& at, const lock_name& name) {
    const auto path = at.lock(paths::file_of(name));
    struct stat about {};
    if (::lstat(path.c_str(), &about) != 0) {
        const int error = errno;
        if (error == ENOENT && ::stat(at.directory().c_str(), &about) == 0) return locks_of_file{};
        return failure_of(error, path, at.directory());
    }
    const auto table = read_lock_table([&](const lock_table& a, const lock_table& b) {
        return same_holders(find(a, about, path), find(b, about, path));
    });
    if (!table) return no_table();
    return known_or_invisible(find(*table, about, path), path);
}

result<std::vector<found_lock>> all_kernel_locks(const paths& at, const std::string& glob) {
    struct candidate {
        lock_name name;
        std::string path;
        struct stat about;
    };
    std::vector<candidate> files;
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(at.directory().c_str()), ::closedir);
    if (!directory) return failure_of(errno, at.directory(), at.directory());
    // NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this stream
    while (const auto* const entry = ::readdir(directory.get())) {
        const std::string file{static_cast<const char*>(entry->d_name)};
        if (!paths::may_be_lock(file)) continue;
        const auto path = at.lock(file);
        struct stat about {};
        if (::lstat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) continue;
        const auto noted = paths::is_hashed(file) ? noted_name(at, file) : std::nullopt;
        const auto name = noted ? *noted : lock_name{file};
        if (base::glob_match(glob, name.str())) files.push_back({name, path, about});
    }
    const auto table = read_lock_table([&](const lock_table& a, const lock_table& b) {
        return std::all_of(files.begin(), files.end(), [&](const candidate& f) {
            return same_holders(find(a, f.about, f.path), find(b, f.about, f.path));
        });
    });
    if (!table) return no_table();
    std::vector<found_lock> all;
    for (const auto& f : files)
        if (const auto* const locks = find(*table, f.about, f.path)) all.push_back({f.name, *locks});
    return all;
}

}  // namespace holdfast::file_backend
