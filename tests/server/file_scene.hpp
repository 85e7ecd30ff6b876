// A directory of lock files, and a client of it.
#pragma once

#include "server/cli_scene.hpp"
#include "support/eventually.hpp"

#include <holdfast/holdfast.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>
#include <string>

namespace holdfast::test {

// What flock(1) does, and every other program.
class foreign_lock {
  public:
    explicit foreign_lock(const std::string& file)
        : fd_(::open(file.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600)) {}
    [[nodiscard]] bool try_lock(int how = LOCK_EX) const { return ::flock(fd_.get(), how | LOCK_NB) == 0; }
    void unlock() const { ::flock(fd_.get(), LOCK_UN); }

  private:
    unique_fd fd_;
};

class file_locks : public ::testing::Test {
  protected:
    [[nodiscard]] config settings(std::chrono::milliseconds lease = std::chrono::seconds{30}) const {
        config how;
        how.url = "file:" + directory;
        how.lease = lease;
        return how;
    }
    [[nodiscard]] child_process start(cli::words words) const {
        words.insert(words.begin(), {"--url", "file:" + directory});
        return cli::start_command(words);
    }
    [[nodiscard]] std::string path_of(const std::string& file) const { return directory + "/" + file; }
    [[nodiscard]] static mode_t mode_of(const std::string& path) {
        struct stat about {};
        return ::lstat(path.c_str(), &about) == 0 ? about.st_mode & 07777U : 0;
    }
    [[nodiscard]] bool is_free(const std::string& file = "stock") const {
        return foreign_lock{path_of(file)}.try_lock();
    }
    const temp_dir folder;
    const std::string directory = (folder.path() / "locks").string();
    client c{settings()};
    mutex stock{c, "stock"};
};

}  // namespace holdfast::test
