#include "backends/file/lock_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <utility>

namespace holdfast::file_backend {

namespace {

// O_NONBLOCK: to open a named pipe must not wait. O_CREAT only for a missing file: in a directory for all,
// the kernel may refuse it for the file of another user.
int open_or_make(const std::string& path, int flags, lock_file::missing what) noexcept {
    flags |= O_RDONLY | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK;
    for (;;) {
        int fd = ::open(path.c_str(), flags);
        if (fd >= 0 || errno != ENOENT || what == lock_file::missing::leave) return fd;
        fd = ::open(path.c_str(), flags | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
        if (fd >= 0 || errno != EEXIST) return fd;  // else another process has made it
    }
}

// The kernel orders what two holders of one process do, but compilers and thread sanitizer cannot see that.
std::atomic<std::uint64_t> unlocks{0};

struct flock as_flock(short type, const byte_range& range) noexcept {
    struct flock how {};
    how.l_type = type;
    how.l_whence = SEEK_SET;
    how.l_start = range.start;
    how.l_len = range.length;
    return how;
}

}  // namespace

lock_file lock_file::open(const std::string& path, children started, missing what) {
    lock_file made;
    if (started == children::let_go)
        made.closed_ = base::fork_closed_fd::from([&] { return open_or_make(path, O_CLOEXEC, what); });
    else
        made.kept_ = base::owned_fd{open_or_make(path, 0, what)};
    return made;
}

// One look at the file, after it was locked: only then it cannot be replaced unnoticed.
int lock_file::try_lock(sharing how) noexcept {
    const int operation = (how == sharing::shared ? LOCK_SH : LOCK_EX) | LOCK_NB;
    const int refusal = ::flock(fd(), operation) == 0 ? 0 : errno;
    locked_ = refusal == 0;
    if (locked_) (void)unlocks.load(std::memory_order_acquire);
    const int other = identify();
    if (refusal == 0 && other != 0) unlock();
    // A file that somebody has locked may be unlinked: its waiters notice that by their watch.
    return refusal != 0 && (other == 0 || other == ESTALE) ? refusal : other;
}

int lock_file::identify() noexcept {
    struct stat about {};
    if (::fstat(fd(), &about) != 0) return errno;
    if (!S_ISREG(about.st_mode)) return S_ISDIR(about.st_mode) ? EISDIR : ENXIO;
    device_ = about.st_dev;
    inode_ = about.st_ino;
    return about.st_nlink > 0 ? 0 : ESTALE;
}

void lock_file::unlock() const noexcept {
    if (!std::exchange(locked_, false)) return;
    unlocks.fetch_add(1, std::memory_order_release);
    ::flock(fd(), LOCK_UN);
}

void lock_file::free() const noexcept {
    constexpr byte_range whole_file{0, 0};
    if (marked_.is_set.exchange(false)) remove_mark(whole_file);
    unlock();
}

bool lock_file::is_linked() const noexcept {
    struct stat about {};
    return ::fstat(fd(), &about) == 0 && about.st_nlink > 0;
}

int lock_file::is_in_place(const std::string& path) const noexcept {
    struct stat about {};
    if (::lstat(path.c_str(), &about) == 0) return about.st_dev == device_ && about.st_ino == inode_ ? 1 : 0;
    return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
}

bool lock_file::set_mark(const byte_range& range) const noexcept {
    auto how = as_flock(F_RDLCK, range);
    if (::fcntl(fd(), F_OFD_SETLK, &how) != 0) return false;
    marked_.is_set.store(true);  // behind it: if the file is freed in between, close() removes the mark
    return true;
}

void lock_file::remove_mark(const byte_range& range) const noexcept {
    auto how = as_flock(F_UNLCK, range);
    ::fcntl(fd(), F_OFD_SETLK, &how);
}

std::optional<byte_range> lock_file::mark_of_another(const byte_range& within) const noexcept {
    if (within.length <= 0) return std::nullopt;
    auto how = as_flock(F_WRLCK, within);
    if (::fcntl(fd(), F_OFD_GETLK, &how) != 0 || how.l_type == F_UNLCK) return std::nullopt;
    return byte_range{how.l_start, how.l_len};
}

void lock_file::close() noexcept {
    if (!*this) return;
    free();
    closed_.reset();
    kept_ = {};
}

}  // namespace holdfast::file_backend
