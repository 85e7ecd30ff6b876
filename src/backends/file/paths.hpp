// Where a store keeps what.
//
//   DIR/NAME                      the lock NAME, as flock(1) has it
//   DIR/.holdfast-HASH            a lock whose name is no file name
//   DIR/.holdfast/                what the store keeps for itself:
//       FILE.fence                the last fence of a lock
//       FILE.permits              the number of permits of a semaphore
//       FILE.name                 the name whose hash is in FILE
//       NAME.register             see registers.hpp
//       clients/                  a socket for each client, see peers.hpp
#pragma once

#include <holdfast/types.hpp>

#include <string>
#include <string_view>

namespace holdfast::file_backend {

enum class side { fence, permits, name };

class paths {
  public:
    explicit paths(std::string directory);

    [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
    [[nodiscard]] const std::string& private_directory() const noexcept { return private_; }
    [[nodiscard]] std::string clients() const { return private_ + "/clients"; }

    [[nodiscard]] std::string lock(std::string_view file) const;
    [[nodiscard]] std::string beside(side what, std::string_view file) const;

    // The file name of a lock: its name, where that is one. The longest leaves room for what is put behind
    // it.
    [[nodiscard]] static std::string file_of(const lock_name& name);
    [[nodiscard]] static bool is_hashed(std::string_view file);
    // Whether `file` may be a lock at all.
    [[nodiscard]] static bool may_be_lock(std::string_view file);

  private:
    std::string directory_;
    std::string private_;
};

}  // namespace holdfast::file_backend
