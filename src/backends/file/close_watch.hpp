// Wakes waiters when a lock file is closed: that is what every holder does in the end, flock(1) and killed
// processes too.
#pragma once

#include "base/annotations.hpp"
#include "base/owned_fd.hpp"
#include "io/reactor.hpp"

#include <holdfast/types.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace holdfast::file_backend {

// One instance of inotify(7) for all locks that are waited for.
//
// Thread-safe.
class close_watch {
  public:
    enum class change {
        closed,    // the lock may be free
        replaced,  // the path may name another file: watch it again
    };
    // Called on the reactor's thread, without a lock.
    using handler = std::function<void(const lock_name&, change)>;

    close_watch(io::reactor& on, handler on_change);
    close_watch(const close_watch&) = delete;
    close_watch& operator=(const close_watch&) = delete;
    ~close_watch() { close(); }

    // Counts how often a name is watched. False, and the same count, if the kernel has no watch left or the
    // file is gone; `why` is then for people.
    [[nodiscard]] bool add(const lock_name& name, const std::string& path, std::string& why);
    void remove(const lock_name& name);
    // After change::replaced: moves the watch to the file that the path names now. Does nothing if the name
    // is not watched.
    void renew(const lock_name& name, const std::string& path);

    // When the file of a watched lock was last closed, as far as is known.
    [[nodiscard]] std::optional<io::time_point> last_closed(const lock_name& name) const;

    // Calls the handler no more. Not on the reactor's thread.
    void close();

  private:
    struct watched {
        int number = -1;  // of inotify; -1: the file is not watched now
        unsigned users = 0;
        std::optional<io::time_point> closed_at;
    };

    void read();
    void forget_number(int number) REQUIRES(mutex_);

    io::reactor& reactor_;
    const handler on_change_;
    mutable base::mutex mutex_;
    base::owned_fd inotify_ GUARDED_BY(mutex_);
    std::map<lock_name, watched> names_ GUARDED_BY(mutex_);
    std::multimap<int, lock_name> by_number_ GUARDED_BY(mutex_);  // hard links share a number
};

}  // namespace holdfast::file_backend
