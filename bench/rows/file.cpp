// Locks in lock files, against flock(2) by hand.
#include "base/owned_fd.hpp"
#include "rows/pairs.hpp"
#include "rows/rows.hpp"
#include "rows/turns.hpp"
#include "support/eventually.hpp"

#include <holdfast/holdfast.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <stdexcept>
#include <string>

namespace holdfast::bench {

namespace {

struct lock_files {
    const test::temp_dir folder;
    const std::string bare = (folder.path() / "bare").string();
    const config ours{.url = "file:" + (folder.path() / "locks").string()};
};

base::owned_fd locked(const std::string& path, int how) {
    base::owned_fd file{::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC, 0600)};
    struct stat about {};
    if (!file || ::flock(file.get(), how) != 0 || ::fstat(file.get(), &about) != 0 || about.st_nlink == 0)
        throw std::runtime_error("flock(2) has failed");
    return file;
}

struct pairs_of_flock : row, lock_files {
    pairs_of_flock() : c(ours), native(c, "bench:native"), fenced(c, "bench:fenced", {.fenced = true}) {
        sides = {{"open, flock, fstat, close",
                  [this](milliseconds span) {
                      return timed(span, [this] { (void)locked(bare, LOCK_EX | LOCK_NB); });
                  }},
                 subject("mutex", native),
                 subject("mutex with fences", fenced)};
        targets = {{"mutex", target::kind::ratio_at_most, 3}};
    }
    client c;
    mutex native;
    mutex fenced;
};

// As flock(1) waits.
crew_body blocked(const std::string& path) {
    return [path](int, shared_page& page, const std::function<void()>& ready) {
        tally t;
        ready();
        while (!page.over.load(std::memory_order_relaxed)) {
            const auto held = locked(path, LOCK_EX);
            page.enter();
            page.leave();
            ++t.acquisitions;
            ++t.attempts;
        }
        return t;
    };
}

struct turns_of_flock : row, lock_files {
    turns_of_flock() {
        constexpr int processes = 8;
        sides = {changes_of_owner("flock(2) that blocks", processes, blocked(bare)),
                 changes_of_owner("mutex", processes, holdfast_process<mutex>(ours, 1, [] {}))};
    }
};

}  // namespace

std::unique_ptr<row> file_uncontended(redis_server&) { return std::make_unique<pairs_of_flock>(); }
std::unique_ptr<row> file_turns(redis_server&) { return std::make_unique<turns_of_flock>(); }

}  // namespace holdfast::bench
