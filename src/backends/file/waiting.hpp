// The lock files that waiters keep open. An attempt that closed its file would wake all other waiters, which
// would close theirs: so each keeps it until it has the lock or gives up.
#pragma once

#include "backends/file/close_watch.hpp"
#include "backends/file/lock_file.hpp"
#include "base/annotations.hpp"
#include "store/store.hpp"

#include <holdfast/types.hpp>

#include <map>
#include <memory>
#include <string>

namespace holdfast::file_backend {

// Thread-safe. Outlives the store where a handle of a watch does.
class waiting_files {
  public:
    waiting_files(io::reactor& on, close_watch::handler on_change) : closes_(on, std::move(on_change)) {}

    [[nodiscard]] close_watch& closes() noexcept { return closes_; }

    // What the owner has opened before. Empty: nothing.
    [[nodiscard]] lock_file take(const owner_id& owner);
    void keep(const owner_id& owner, lock_file at);
    void drop(const owner_id& owner) { (void)take(owner); }
    // Closes all of them and watches no more. Not on the reactor's thread.
    void close();

  private:
    close_watch closes_;
    base::mutex mutex_;
    std::map<std::string, lock_file> files_ GUARDED_BY(mutex_);
};

// Ends the watch of a waiter, and closes the file that it has open.
class waiting_handle final : public backend::watch_handle {
  public:
    waiting_handle(std::unique_ptr<backend::watch_handle> entry, std::shared_ptr<waiting_files> files,
                   lock_name name, owner_id owner);
    ~waiting_handle() override;

    bool watches_closes = false;

  private:
    std::unique_ptr<backend::watch_handle> entry_;
    const std::shared_ptr<waiting_files> files_;
    const lock_name name_;
    const owner_id owner_;
};

}  // namespace holdfast::file_backend
