#include "backends/file/side_files.hpp"

#include "backends/common/fence_clock.hpp"
#include "backends/file/failures.hpp"
#include "base/clock.hpp"
#include "base/owned_fd.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <utility>
#include <variant>

namespace holdfast::file_backend {

namespace {

using backend::failure;
using backend::result;

// A number as text, always as long: what is there is overwritten at once and never cut.
constexpr std::size_t width = 21;

int open_raw(const paths& at, const std::string& path, int flags) {
    flags |= O_CLOEXEC | O_NOFOLLOW | O_NOCTTY;
    const int fd = ::open(path.c_str(), flags, S_IRUSR | S_IWUSR);
    if (fd >= 0 || errno != ENOENT || (flags & O_CREAT) == 0) return fd;
    // The first of all side files.
    if (::mkdir(at.private_directory().c_str(), S_IRWXU) != 0 && errno != EEXIST) return -1;
    return ::open(path.c_str(), flags, S_IRUSR | S_IWUSR);
}

base::owned_fd open_beside(const paths& at, const std::string& path, int flags) {
    return base::owned_fd{open_raw(at, path, flags)};
}

template <class Number>
result<std::optional<Number>> read_number(int fd, const std::string& path, const std::string& directory) {
    std::array<char, width + 1> text{};
    const auto n = ::pread(fd, text.data(), text.size(), 0);
    if (n < 0) return failure_of(errno, path, directory);
    if (n == 0) return std::optional<Number>{};
    Number number{};
    const char* begin = text.data();
    const char* const end = text.data() + n;
    while (begin != end && *begin == ' ') ++begin;
    const auto [stopped, ec] = std::from_chars(begin, end, number);
    if (ec != std::errc{} || stopped + 1 != end || *stopped != '\n')
        return failure{make_error_code(errc::bad_reply), path + " does not contain a number"};
    return std::optional{number};
}

template <class Number>
std::optional<failure> write_number(int fd, Number number, const std::string& path,
                                    const std::string& directory) {
    const auto digits = std::to_string(number);
    std::string text(width - digits.size(), ' ');
    text.append(digits).append("\n");
    const auto n = ::pwrite(fd, text.data(), text.size(), 0);
    if (n == static_cast<ssize_t>(text.size())) return std::nullopt;
    return failure_of(n < 0 ? errno : ENOSPC, path, directory);
}

// Writes what `next` makes of the last fence; 0: there is none.
template <class Next>
result<std::uint64_t> change_fence(const paths& at, std::string_view file, Next next) {
    const auto path = at.beside(side::fence, file);
    const auto fd = open_beside(at, path, O_RDWR | O_CREAT);
    if (!fd) return failure_of(errno, path, at.directory());
    auto last = read_number<std::uint64_t>(fd.get(), path, at.directory());
    if (auto* const no = std::get_if<failure>(&last)) return std::move(*no);
    const auto before = std::get<std::optional<std::uint64_t>>(last).value_or(0);
    const std::uint64_t number = next(before);
    if (number == before) return number;
    if (auto no = write_number(fd.get(), number, path, at.directory())) return *std::move(no);
    return number;
}

}  // namespace

result<std::uint64_t> next_fence(const paths& at, std::string_view file, std::uint32_t per_grant) {
    return change_fence(at, file, [&](std::uint64_t last) {
        return backends::next_fence(last, per_grant, base::wall_microseconds());
    });
}

result<std::uint64_t> raise_fence(const paths& at, std::string_view file, std::uint64_t least) {
    return change_fence(at, file, [&](std::uint64_t last) { return std::max(last, least); });
}

std::optional<std::uint64_t> last_fence(const paths& at, std::string_view file) {
    const auto path = at.beside(side::fence, file);
    const auto fd = open_beside(at, path, O_RDONLY);
    if (!fd) return std::nullopt;
    const auto last = read_number<std::uint64_t>(fd.get(), path, at.directory());
    const auto* const number = std::get_if<std::optional<std::uint64_t>>(&last);
    return number != nullptr ? *number : std::nullopt;
}

void note_name(const paths& at, std::string_view file, const lock_name& name) {
    const auto path = at.beside(side::name, file);
    const auto fd = open_beside(at, path, O_WRONLY | O_CREAT);
    if (fd) [[maybe_unused]]
        const auto n = ::pwrite(fd.get(), name.str().data(), name.str().size(), 0);
}

std::optional<lock_name> noted_name(const paths& at, std::string_view file) {
    const auto fd = open_beside(at, at.beside(side::name, file), O_RDONLY);
    if (!fd) return std::nullopt;
    std::string text(lock_name::max_size, '\0');
    const auto n = ::pread(fd.get(), text.data(), text.size(), 0);
    if (n <= 0) return std::nullopt;
    text.resize(static_cast<std::size_t>(n));
    lock_name name{text};
    if (paths::file_of(name) != file) return std::nullopt;  // cut off, or of somebody else
    return name;
}

permit_count::permit_count(base::fork_closed_fd fd, std::string path, std::string directory)
    : fd_(std::move(fd)), path_(std::move(path)), directory_(std::move(directory)) {}

result<std::optional<permit_count>> permit_count::open(const paths& at, std::string_view file, missing what) {
    auto path = at.beside(side::permits, file);
    auto fd = base::fork_closed_fd::from(
        [&] { return open_raw(at, path, O_RDWR | (what == missing::make ? O_CREAT : 0)); });
    if (fd) return std::optional{permit_count{std::move(fd), std::move(path), at.directory()}};
    struct stat about {};
    if (what == missing::leave && errno == ENOENT && ::stat(at.directory().c_str(), &about) == 0)
        return std::optional<permit_count>{};
    return failure_of(errno, path, at.directory());
}

bool permit_count::exists(const paths& at, std::string_view file) {
    struct stat about {};
    return ::stat(at.beside(side::permits, file).c_str(), &about) == 0 && about.st_size > 0;
}

permit_count::~permit_count() {
    if (fd_) ::flock(fd_.get(), LOCK_UN);
}

bool permit_count::take() const noexcept { return ::flock(fd_.get(), LOCK_EX | LOCK_NB) == 0; }

result<std::optional<std::int64_t>> permit_count::read() const {
    return read_number<std::int64_t>(fd_.get(), path_, directory_);
}

std::optional<failure> permit_count::write(std::int64_t number) const {
    return write_number(fd_.get(), number, path_, directory_);
}

}  // namespace holdfast::file_backend
