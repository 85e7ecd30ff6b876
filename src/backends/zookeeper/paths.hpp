// Where the nodes of an ensemble are.
#pragma once

#include "backends/zookeeper/names.hpp"

#include <holdfast/types.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::zookeeper_backend {

// Immutable, so thread-safe.
class paths {
  public:
    paths(std::string chroot, const std::string& base, naming by)
        : chroot_(std::move(chroot)), base_(chroot_ + base), names_(by) {}

    [[nodiscard]] const std::string& base() const noexcept { return base_; }
    [[nodiscard]] const std::string& chroot() const noexcept { return chroot_; }
    // The directory of the nodes by which holders confirm that they gave up.
    [[nodiscard]] std::string evictions() const { return chroot_ + "/holdfast-evictions"; }
    // The names that the children of a mutex's directory have.
    [[nodiscard]] naming names() const noexcept { return names_; }
    // The directory of a lock.
    [[nodiscard]] std::string of(const lock_name& name) const { return base_ + '/' + escaped(name.str()); }

    // The directory of a register. No lock's is there: escaped() makes a '%' only before two digits.
    [[nodiscard]] std::string of_register(std::string_view name) const {
        return base_ + "/%registers/" + std::string{name};
    }

    // The node with the last fence of a lock, where fences follow the time. No lock's is there, either.
    [[nodiscard]] std::string of_fence(const lock_name& name) const {
        return base_ + "/%last_fences/" + escaped(name.str());
    }

    // The directories to make before a node in `directory` can be made, the outermost first. The chroot is
    // not among them: whoever names one has made it.
    [[nodiscard]] std::vector<std::string> ancestors(std::string_view directory) const {
        std::vector<std::string> all;
        for (auto at = directory.find('/', chroot_.size() + 1); at != std::string_view::npos;
             at = directory.find('/', at + 1))
            all.emplace_back(directory.substr(0, at));
        all.emplace_back(directory);
        return all;
    }

  private:
    const std::string chroot_;
    const std::string base_;
    const naming names_;
};

[[nodiscard]] inline std::string parent_of(std::string_view path) {
    return std::string{path.substr(0, path.rfind('/'))};
}
[[nodiscard]] inline std::string last_of(std::string_view path) {
    return std::string{path.substr(path.rfind('/') + 1)};
}

}  // namespace holdfast::zookeeper_backend
