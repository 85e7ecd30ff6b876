#include "backends/file/registers.hpp"

#include "backends/common/register_version.hpp"
#include "backends/file/failures.hpp"
#include "base/fork_closed_fd.hpp"
#include "base/owned_fd.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string>
#include <utility>
#include <variant>

namespace holdfast::file_backend {

namespace {

using namespace backend;

constexpr std::string_view mark = "holdfast register ";

std::string file_of(std::string_view name) {
    assert(is_register_name(name));
    return std::string{name} + ".register";
}

// "holdfast register VERSION SIZE", a line feed and the text.
std::string to_bytes(const register_value& value) {
    std::string bytes{mark};
    bytes.append(std::to_string(value.version)).append(" ").append(std::to_string(value.text.size()));
    return bytes.append("\n").append(value.text);
}

std::optional<register_value> from_bytes(std::string_view bytes) {
    if (!bytes.starts_with(mark)) return std::nullopt;
    bytes.remove_prefix(mark.size());
    const auto number_before = [&bytes](char end) -> std::optional<std::uint64_t> {
        std::uint64_t n = 0;
        const auto [stopped, ec] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), n);
        const auto digits = static_cast<std::size_t>(stopped - bytes.data());
        if (ec != std::errc{} || digits == bytes.size() || *stopped != end) return std::nullopt;
        bytes.remove_prefix(digits + 1);
        return n;
    };
    const auto version = number_before(' ');
    const auto size = version ? number_before('\n') : std::nullopt;
    if (!size || *size != bytes.size() || *version == 0) return std::nullopt;
    return register_value{*version, std::string{bytes}};
}

// The files of one register, by the directory that they are in: where that is replaced meanwhile, nothing is
// written into the new one.
class place {
  public:
    place(const paths& at, int directory, std::string_view name)
        : at_(at), directory_(directory), file_(file_of(name)) {}

    [[nodiscard]] result<register_value> read() const {
        constexpr std::size_t most_bytes = linearizable_register::longest_text + 100;
        // O_NONBLOCK: to open a named pipe must not wait.
        constexpr int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK;
        const base::owned_fd fd{::openat(directory_, file_.c_str(), flags)};
        if (!fd && errno == ENOENT) return register_value{};
        struct stat about {};
        if (!fd || ::fstat(fd.get(), &about) != 0) return failed(errno);
        if (!S_ISREG(about.st_mode)) return failed(S_ISDIR(about.st_mode) ? EISDIR : ENXIO);
        std::string bytes(most_bytes, '\0');
        std::size_t size = 0;
        for (ssize_t n = 1; n > 0 && size < most_bytes; size += static_cast<std::size_t>(n)) {
            n = ::read(fd.get(), bytes.data() + size, most_bytes - size);
            if (n < 0) return failed(errno);
        }
        auto value = from_bytes(std::string_view{bytes}.substr(0, size));
        if (!value)
            return failure{make_error_code(errc::wrong_kind), path() + " does not contain a register"};
        return *std::move(value);
    }
    // In its turn only.
    [[nodiscard]] std::optional<failure> write(const register_value& value) const {
        const auto next = file_ + ".new";
        (void)::unlinkat(directory_, next.c_str(), 0);  // of a process that was killed
        if (const int error = write_file(next, to_bytes(value)); error != 0) {
            (void)::unlinkat(directory_, next.c_str(), 0);
            return failed(error);
        }
        if (::renameat(directory_, next.c_str(), directory_, file_.c_str()) != 0) return failed(errno);
        if (::fsync(directory_) == 0) return std::nullopt;
        auto why = failed(errno);
        why.code = make_error_code(errc::unknown_outcome);
        return why;
    }

  private:
    [[nodiscard]] std::string path() const { return at_.private_directory() + '/' + file_; }
    [[nodiscard]] failure failed(int error) const { return failure_of(error, path(), at_.directory()); }

    // 0, or errno. On the disk when it returns: a rename may be there before what the file contains.
    [[nodiscard]] int write_file(const std::string& file, std::string_view bytes) const {
        constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
        const base::owned_fd fd{::openat(directory_, file.c_str(), flags, S_IRUSR | S_IWUSR)};
        if (!fd) return errno;
        while (!bytes.empty()) {
            const auto n = ::write(fd.get(), bytes.data(), bytes.size());
            if (n <= 0) return n < 0 ? errno : ENOSPC;
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
        return ::fsync(fd.get()) == 0 ? 0 : errno;
    }

    const paths& at_;
    const int directory_;
    const std::string file_;
};

int open_directory(const std::string& path) {
    return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

// The turn of one process at all registers. A forked child may have a copy of the descriptor.
class turn {
  public:
    explicit turn(int directory) noexcept
        : directory_(directory), has_it_(::flock(directory, LOCK_EX | LOCK_NB) == 0) {}
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() {
        if (has_it_) ::flock(directory_, LOCK_UN);
    }
    explicit operator bool() const noexcept { return has_it_; }

  private:
    const int directory_;
    const bool has_it_;
};

}  // namespace

result<register_value> read_register(const paths& at, std::string_view name) {
    const base::owned_fd directory{open_directory(at.private_directory())};
    if (directory) return place{at, directory.get(), name}.read();
    const int error = errno;
    struct stat about {};
    // It is made for the first change.
    if (error == ENOENT && ::stat(at.directory().c_str(), &about) == 0) return register_value{};
    return failure_of(error, at.private_directory(), at.directory());
}

std::optional<result<register_value>> change_register(const paths& at, std::string_view name,
                                                      std::uint64_t expected, std::string_view text) {
    const auto& path = at.private_directory();
    if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST)
        return failure_of(errno, path, at.directory());
    const auto directory = base::fork_closed_fd::from([&] { return open_directory(path); });
    if (!directory) return failure_of(errno, path, at.directory());
    const turn mine{directory.get()};
    if (!mine) return std::nullopt;
    const place here{at, directory.get(), name};
    auto found = here.read();
    const auto* const now = std::get_if<register_value>(&found);
    if (now == nullptr || now->version != expected) return found;
    register_value next{backends::next_register_version(expected), std::string{text}};
    if (auto no = here.write(next)) return *std::move(no);
    return next;
}

}  // namespace holdfast::file_backend
