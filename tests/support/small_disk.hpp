// A file system of a few megabytes that a test can fill.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

// Not thread-safe. Throws std::runtime_error when something fails that a test relies on.
class small_disk {
  public:
    explicit small_disk(std::filesystem::path at) : path_(std::move(at)) {}
    small_disk(const small_disk&) = delete;
    small_disk& operator=(const small_disk&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    // Until no block is left.
    void fill();
    // Until no file can be made.
    void use_up_inodes();
    // Removes what the two have made.
    void make_room();

  private:
    std::filesystem::path path_;
    std::vector<std::filesystem::path> ballast_;
};

// Runs `story` with a new file system ("size=1m,nr_inodes=20", see tmpfs(5)) on a thread that has mounts of
// its own: no other thread and process sees it but those that `story` starts, so nothing is left mounted.
// Rethrows what `story` throws. Empty, or why nothing can be mounted here.
[[nodiscard]] std::string with_small_disk(const std::string& options,
                                          const std::function<void(small_disk&)>& story);

}  // namespace holdfast::test
