#include "backends/file/kernel_locks.hpp"

#include <fstream>
#include <iterator>
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

std::optional<lock_table> read_lock_table() {
    std::ifstream file("/proc/locks");
    if (!file) return std::nullopt;
    return parse_lock_table(std::string{std::istreambuf_iterator<char>{file}, {}});
}

}  // namespace holdfast::file_backend
