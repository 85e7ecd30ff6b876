// What a store writes down: the last fence of a lock, the number of permits of a semaphore, the names behind
// hashes. In files of their own, since a lock file may be anybody's. Nothing here is synchronized to the
// disk: the holders of locks die with the kernel.
#pragma once

#include "backends/file/paths.hpp"
#include "base/fork_closed_fd.hpp"
#include "store/requests.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::file_backend {

// For the holder of the lock only. A fence greater than all before, also after the file was lost unless the
// clock was set back. It was written down when this returns.
[[nodiscard]] backend::result<std::uint64_t> next_fence(const paths& at, std::string_view file,
                                                        std::uint32_t per_grant);
// For the holder of the lock only. The last fence is at least that much afterwards.
[[nodiscard]] backend::result<std::uint64_t> raise_fence(const paths& at, std::string_view file,
                                                         std::uint64_t least);
// Empty: there was no grant with a fence, or it cannot be read.
[[nodiscard]] std::optional<std::uint64_t> last_fence(const paths& at, std::string_view file);

// Best effort: without it the lock is listed by its hash.
void note_name(const paths& at, std::string_view file, const lock_name& name);
[[nodiscard]] std::optional<lock_name> noted_name(const paths& at, std::string_view file);

// The number of permits of a semaphore: of free ones and held ones together. One process at a time has its
// turn, and never for long.
class permit_count {
  public:
    enum class missing { make, leave };
    // Nothing: there is no number, and none was to be made. Else open, and perhaps `taken`.
    [[nodiscard]] static backend::result<std::optional<permit_count>> open(const paths& at,
                                                                           std::string_view file,
                                                                           missing what);
    // Whether a semaphore has this name. Costs one system call.
    [[nodiscard]] static bool exists(const paths& at, std::string_view file);

    permit_count(permit_count&&) noexcept = default;
    permit_count& operator=(permit_count&&) noexcept = default;
    // Gives the turn up, also where a forked child has a copy of the descriptor.
    ~permit_count();

    // False: another process has its turn.
    [[nodiscard]] bool take() const noexcept;
    // After take(). Empty: it is not set.
    [[nodiscard]] backend::result<std::optional<std::int64_t>> read() const;
    [[nodiscard]] std::optional<backend::failure> write(std::int64_t number) const;

  private:
    permit_count(base::fork_closed_fd fd, std::string path, std::string directory);

    base::fork_closed_fd fd_;
    std::string path_;
    std::string directory_;
};

}  // namespace holdfast::file_backend
