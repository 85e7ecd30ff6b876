// An open lock file: the lock of flock(2), and marks. Nothing is written into the file, and it is never
// unlinked: a process that waits for the unlinked file and one that makes it anew would both have the lock.
#pragma once

#include "backends/file/marks.hpp"
#include "backends/file/url.hpp"
#include "base/fork_closed_fd.hpp"
#include "base/owned_fd.hpp"

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::file_backend {

enum class sharing {
    exclusive,
    shared,
};

// For one thread at a time, except is_in_place(), which any thread may call meanwhile. The lock belongs to
// the open file: two of one process exclude each other as those of two processes do.
class lock_file {
  public:
    // Empty, with errno. A missing file is made, for its owner only, if `make` says so. It is opened for
    // reading, which suffices for flock(2), so that no lock can damage it.
    enum class missing { make, leave };
    [[nodiscard]] static lock_file open(const std::string& path, children started, missing what);

    lock_file() = default;
    lock_file(lock_file&&) noexcept = default;
    lock_file& operator=(lock_file&&) noexcept = default;
    // Frees it: a forked child may have a copy of the descriptor.
    ~lock_file() { close(); }

    explicit operator bool() const noexcept { return fd() >= 0; }

    // 0, or errno: EWOULDBLOCK if somebody else has it, ESTALE if it was unlinked since it was opened, EISDIR
    // or ENXIO if it is no regular file. Never blocks.
    [[nodiscard]] int try_lock(sharing how) noexcept;
    // What try_lock() finds out about the file, without the lock.
    [[nodiscard]] int identify() noexcept;
    // Keeps the marks.
    void unlock() const noexcept;
    // Removes all marks, and then unlocks: whoever has the lock next sees none of them.
    void free() const noexcept;
    // The file was not unlinked since it was opened.
    [[nodiscard]] bool is_linked() const noexcept;
    // Whether the path still names this file: 1, 0, or -1 with errno if that is not known. After identify()
    // or try_lock().
    [[nodiscard]] int is_in_place(const std::string& path) const noexcept;

    // False, with errno, if the kernel has no memory, or another program has locked the file by fcntl(2).
    bool set_mark(const byte_range& range) const noexcept;
    void remove_mark(const byte_range& range) const noexcept;
    // A mark of another open file within the range; of several, any.
    [[nodiscard]] std::optional<byte_range> mark_of_another(const byte_range& within) const noexcept;

    // Frees first, and then closes: the kernel reports a close to waiters before it frees the lock, and keeps
    // locks and marks while a child has a copy of the descriptor.
    void close() noexcept;

  private:
    // A renewal may set a mark while another thread frees the file.
    struct flag {
        flag() = default;
        flag(flag&& other) noexcept : is_set(other.is_set.load()) {}
        flag& operator=(flag&& other) noexcept {
            is_set = other.is_set.load();
            return *this;
        }
        ~flag() = default;
        std::atomic<bool> is_set{false};
    };

    [[nodiscard]] int fd() const noexcept { return kept_ ? kept_.get() : closed_.get(); }

    base::fork_closed_fd closed_;  // one of the two
    base::owned_fd kept_;
    mutable bool locked_ = false;
    mutable flag marked_;  // there may be marks to remove
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace holdfast::file_backend
