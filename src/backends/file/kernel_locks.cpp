#include "backends/file/kernel_locks.hpp"

#include "base/owned_fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <sstream>

namespace holdfast::file_backend {

namespace {

// "fe:00:9978103", the device in hexadecimal digits
std::optional<file_id> file_in(const std::string& text) {
    file_id id;
    char colon = 0;
    char second = 0;
    std::istringstream in(text);
    in >> std::hex >> id.major >> colon >> id.minor >> second >> std::dec >> id.inode;
    return in && colon == ':' && second == ':' ? std::optional{id} : std::nullopt;
}

// "1: FLOCK  ADVISORY  WRITE 12993 fe:00:9978103 0 EOF", with "->" behind "1:" for one that waits
void add_line(lock_table& to, const std::string& line) {
    std::istringstream in(line);
    std::string number, type, advisory, access, file, start, end;
    std::int64_t pid = 0;
    in >> number >> type;
    const bool waits = type == "->";
    if (waits) in >> type;
    in >> advisory >> access >> pid >> file >> start >> end;
    const auto id = in ? file_in(file) : std::nullopt;
    if (!id) return;
    if (type == "FLOCK") {
        auto& all = to[*id];
        (waits ? all.blocked : all.held).push_back({pid, access == "WRITE"});
    } else if (type == "OFDLCK" && !waits && end != "EOF") {
        byte_range range;
        std::int64_t last = 0;
        std::istringstream(start) >> range.start;
        std::istringstream(end) >> last;
        range.length = last - range.start + 1;
        if (auto known = mark_in(range)) to[*id].marks.push_back(*known);
    }
}

}  // namespace

lock_table parse_lock_table(std::string_view text) {
    lock_table all;
    std::istringstream lines{std::string{text}};
    for (std::string line; std::getline(lines, line);) add_line(all, line);
    return all;
}

std::optional<reading> read_once() {
    const base::owned_fd fd{::open("/proc/locks", O_RDONLY | O_CLOEXEC)};
    if (!fd) return std::nullopt;
    std::string text;
    int parts = 0;
    for (std::array<char, 65536> part;;) {
        const auto n = ::read(fd.get(), part.data(), part.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return std::nullopt;
        if (n == 0) break;
        text.append(part.data(), static_cast<std::size_t>(n));
        ++parts;
    }
    return reading{parse_lock_table(text), parts <= 1};
}

std::optional<lock_table> read_lock_table(const same_to_caller& same,
                                          const std::function<std::optional<reading>()>& read) {
    std::optional<lock_table> last;
    for (int n = 0; n < most_readings; ++n) {
        auto now = read();
        if (!now) return std::nullopt;
        if (now->in_one || (last && same(*last, now->table))) return std::move(now->table);
        last = std::move(now->table);
    }
    return last;
}

}  // namespace holdfast::file_backend
