#include "support/small_disk.hpp"

#include "support/background.hpp"
#include "support/eventually.hpp"
#include "support/unique_fd.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace holdfast::test {

namespace {

void must_be_full(const std::filesystem::path& path) {
    if (errno != ENOSPC)
        throw std::runtime_error{path.string() + ": " + std::generic_category().message(errno)};
}

// Nothing that is mounted from now on is seen outside; MS_PRIVATE is refused in a chroot whose root is no
// mount point.
std::string take_own_mounts() {
    if (::unshare(CLONE_NEWNS) != 0) return "unshare: " + std::generic_category().message(errno);
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        return "the root cannot be made private: " + std::generic_category().message(errno);
    return {};
}

}  // namespace

void small_disk::fill() {
    const auto& file = ballast_.emplace_back(path_ / ("ballast" + std::to_string(ballast_.size())));
    const unique_fd to{::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
    if (!to) return must_be_full(file);
    static constexpr std::array<char, 4096> page{};
    while (::write(to.get(), page.data(), page.size()) > 0) {
    }
    must_be_full(file);
}

void small_disk::use_up_inodes() {
    for (;;) {
        auto file = path_ / ("ballast" + std::to_string(ballast_.size()));
        const unique_fd made{::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
        if (!made) return must_be_full(file);
        ballast_.push_back(std::move(file));
    }
}

void small_disk::make_room() {
    for (const auto& file : ballast_) std::filesystem::remove(file);
    ballast_.clear();
}

std::string with_small_disk(const std::string& options, const std::function<void(small_disk&)>& story) {
    const temp_dir folder;
    // A server may run as another user.
    std::filesystem::permissions(folder.path(), std::filesystem::perms{0711});
    return in_background([&]() -> std::string {
               const auto at = folder.path() / "disk";
               std::filesystem::create_directory(at);
               if (auto why = take_own_mounts(); !why.empty()) return why;
               if (::mount("none", at.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0)
                   return "mount: " + std::generic_category().message(errno);
               small_disk disk{at};
               story(disk);
               return {};
           })
        .get();
}

}  // namespace holdfast::test
