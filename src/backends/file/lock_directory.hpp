// Takes and frees the locks of a directory. Each call asks the kernel, and never waits for another process.
#pragma once

#include "backends/common/waiter_registry.hpp"
#include "backends/file/held_locks.hpp"
#include "backends/file/paths.hpp"
#include "backends/file/side_files.hpp"
#include "backends/file/url.hpp"
#include "backends/file/waiting.hpp"
#include "store/counters.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::file_backend {

inline constexpr std::uint32_t fences_per_grant = 16;  // the grant itself has the first

// Thread-safe, as far as the calls for one owner follow each other.
class lock_directory {
  public:
    lock_directory(const url& where, std::shared_ptr<waiting_files> waiting,
                   std::shared_ptr<const backends::waiter_registry> waiters)
        : paths_(where.directory),
          started_(where.started),
          waiting_(std::move(waiting)),
          waiters_(std::move(waiters)) {}

    [[nodiscard]] const paths& where() const noexcept { return paths_; }

    // For all kinds but semaphores.
    [[nodiscard]] backend::attempt_answer lock(const backend::attempt_request& r);
    // For semaphores. Empty: another process has its turn at the number of permits; try again.
    [[nodiscard]] std::optional<backend::attempt_answer> take_permits(const backend::attempt_request& r);
    [[nodiscard]] std::optional<backend::adjust_answer> adjust(const backend::adjust_request& r);
    [[nodiscard]] backend::adjust_answer raise_fence(const backend::adjust_request& r);

    [[nodiscard]] backend::renew_answer renew(const backend::renew_request& r);
    [[nodiscard]] backend::release_answer release(const backend::release_request& r);
    // Takes the lock from an owner of this client. False: it does not hold it.
    [[nodiscard]] bool drop(const owner_id& owner);
    void drop_all();
    [[nodiscard]] bool holds(const owner_id& owner) const { return held_by(owner) != nullptr; }

    // For people: the number of free and held permits of a semaphore. Empty: it is not set, or not readable.
    [[nodiscard]] std::optional<std::int64_t> permits_of(const lock_name& name) const;

  private:
    // What an attempt works on.
    struct place {
        owner_number owner;
        std::string file;
        std::string path;
        lock_file at;
    };
    // A grant that was made before, or the open file, or why there is none.
    std::optional<backend::attempt_answer> begin(const backend::attempt_request& r, place& on);
    // 0, or errno. Opens the file anew if it was replaced.
    int try_lock(place& on, sharing how) const;
    [[nodiscard]] bool shows_other_kind(const lock_file& at, backend::kind of) const;
    backend::attempt_answer not_now(const backend::attempt_request& r, place on);
    backend::attempt_answer grant(const backend::attempt_request& r, place on, holdfast::fence fence);
    [[nodiscard]] backend::refused refusal(const place& on, int system_error) const;
    // Of an attempt that had the file for a moment.
    backend::refused refuse(const backend::attempt_request& r, place on, backend::failure why);
    [[nodiscard]] held_locks::entry held_by(const owner_id& owner) const;
    void keep_for_waiter(const backend::attempt_request& r, place on);

    // Nothing: another program has locked the file by fcntl(2).
    [[nodiscard]] static std::optional<std::int64_t> permits_held(const lock_file& at);
    [[nodiscard]] bool mark_permits(const lock_file& at, const owner_number& owner,
                                    std::uint32_t permits) const;

    const paths paths_;
    const children started_;
    const std::shared_ptr<waiting_files> waiting_;
    const std::shared_ptr<const backends::waiter_registry> waiters_;
    held_locks held_;
};

}  // namespace holdfast::file_backend
