#include "cli/run/metrics_file.hpp"

#include "base/clock.hpp"
#include "observe/exposition.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace holdfast::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view last_success = "holdfast_run_last_success_timestamp_seconds";

[[noreturn]] void fail(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

// A new file beside the one whose place it takes. Collectors read files that end in .prom. Removed again if
// it does not take that place.
class new_file {
  public:
    explicit new_file(const std::string& beside) : path_(beside + ".XXXXXX") {
        fd_ = ::mkostemp(path_.data(), O_CLOEXEC);
        // The collector is another user.
        if (fd_ < 0 || ::fchmod(fd_, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH) != 0)
            fail("cannot write " + beside);
    }
    new_file(const new_file&) = delete;
    new_file& operator=(const new_file&) = delete;
    ~new_file() {
        if (fd_ >= 0) ::close(fd_);
        if (!path_.empty()) ::unlink(path_.c_str());
    }

    void write(std::string_view text) const {
        while (!text.empty()) {
            const auto n = ::write(fd_, text.data(), text.size());
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) fail("cannot write " + path_);
            text.remove_prefix(static_cast<std::size_t>(n));
        }
    }
    void take_the_place_of(const std::string& other) {
        if (::close(std::exchange(fd_, -1)) != 0) fail("cannot write " + path_);
        if (std::rename(path_.c_str(), other.c_str()) != 0) fail("cannot replace " + other);
        path_.clear();
    }

  private:
    std::string path_;
    int fd_ = -1;
};

// A link stays one: the file that it leads to is replaced.
std::string behind_links(std::string path) {
    constexpr int most_links = 40;  // as the kernel
    for (int i = 0; i < most_links && fs::is_symlink(path); ++i)
        path = (fs::path{path}.parent_path() / fs::read_symlink(path)).string();
    return path;
}

// The value behind `series` ("name{labels} ") in the file; 0: there is none.
double value_in(const std::string& path, std::string_view series) {
    std::ifstream in{path};
    for (std::string line; std::getline(in, line);) {
        if (!line.starts_with(series)) continue;
        const auto number = std::string_view{line}.substr(series.size());
        double value = 0;
        if (std::from_chars(number.data(), number.data() + number.size(), value).ec == std::errc{})
            return value;
    }
    return 0;
}

double in_seconds(std::optional<boot_clock::duration> d) {
    return std::chrono::duration<double>(d.value_or(boot_clock::duration{})).count();
}

std::string joined(const std::vector<std::string>& locks) {
    std::string all;
    for (const auto& one : locks) all += (all.empty() ? "" : ",") + lock_name{one}.printable();
    return all;
}

}  // namespace

metrics_file::metrics_file(std::string path, const std::vector<std::string>& locks)
    : path_(behind_links(std::move(path))), locks_(joined(locks)) {
    const new_file tried{path_};
    struct stat about {};
    if (::stat(path_.c_str(), &about) == 0 && !S_ISREG(about.st_mode)) {
        errno = EEXIST;
        fail(path_ + " is no file");
    }
}

std::string metrics_file::text_of(double last, int exit_code, const run_times& times) const {
    observe::exposition to{metrics_format::prometheus};
    const auto gauge = [&](std::string_view name, std::string_view help, double value) {
        to.gauge(name, help);
        to.add({{"lock", locks_}}, value);
    };
    gauge(last_success, "When a command under this lock last ended with 0; 0: never.", last);
    gauge("holdfast_run_last_end_timestamp_seconds", "When the last run ended.",
          static_cast<double>(base::wall_microseconds()) / 1e6);
    gauge("holdfast_run_exit_code", "Exit code of the last run.", exit_code);
    gauge("holdfast_run_wait_seconds", "How long the last run waited for its locks.",
          in_seconds(times.waited));
    gauge("holdfast_run_duration_seconds",
          "How long the command of the last run took; 0: it was not started.", in_seconds(times.ran));
    return std::move(to).take();
}

void metrics_file::write(int exit_code, const run_times& times) const {
    auto last = static_cast<double>(base::wall_microseconds()) / 1e6;
    // Code 0 without a run: the lock was busy, and -E 0 says that this is well.
    if (exit_code != 0 || !times.ran) {
        const auto text = text_of(0, 0, {});
        const auto at = text.find('\n' + std::string{last_success} + '{') + 1;
        // A name may have a space, the value has none.
        const auto line = std::string_view{text}.substr(at, text.find('\n', at) - at);
        last = value_in(path_, line.substr(0, line.rfind(' ') + 1));
    }
    new_file made{path_};
    made.write(text_of(last, exit_code, times));
    made.take_the_place_of(path_);
}

}  // namespace holdfast::cli
