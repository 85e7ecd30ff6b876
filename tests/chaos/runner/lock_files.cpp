// No server: the clients share a directory of lock files.
#include "chaos/runner/topology.hpp"

#include "support/eventually.hpp"
#include "support/unique_fd.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

namespace holdfast::chaos {

namespace {

class lock_files final : public topology {
  public:
    [[nodiscard]] std::string url() const override { return "file:" + folder_.path().string(); }
    [[nodiscard]] std::string direct_url() override { return url(); }
    [[nodiscard]] std::vector<test::redis_server*> lock_servers() override { return {}; }

    // flock(1) holds a lock, shared or not, or a process stands still while it counts permits. Does nothing
    // if a client has the file.
    void begin(const planned& p) override {
        static constexpr const char* files[] = {"mutex0", "fenced0", "shared0", "semaphore0",
                                                ".holdfast/semaphore0.permits"};
        const auto path = folder_.path() / files[p.amount / 2 % std::size(files)];
        other_program_ = test::unique_fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
        if (!other_program_ && errno != ENOENT)
            throw std::system_error(errno, std::generic_category(), path.string());
        if (other_program_)
            (void)::flock(other_program_.get(), (p.amount % 2 == 0 ? LOCK_EX : LOCK_SH) | LOCK_NB);
    }
    void end(const planned&) override { other_program_ = {}; }

    void remove(const std::string& lock) override { std::filesystem::remove(folder_.path() / lock); }

  private:
    const test::temp_dir folder_;
    test::unique_fd other_program_;
};

}  // namespace

std::unique_ptr<topology> make_lock_files(precautions) { return std::make_unique<lock_files>(); }

std::span<const trouble> troubles_of_lock_files() {
    using enum trouble;
    static constexpr trouble all[] = {client_stops, client_killed, foreign_lock, holder_evicted, key_deleted};
    return all;
}

}  // namespace holdfast::chaos
