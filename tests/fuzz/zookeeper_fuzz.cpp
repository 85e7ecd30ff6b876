// For any bytes, split in any way, frames are cut and every record is parsed or refused, without more memory
// than the bytes need. The first byte is the size of the fragments.
#include "zookeeper/wire.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace holdfast::zookeeper;

namespace {

void parse_all(std::string_view content) {
    (void)parse_login(content);
    const auto r = parse_reply(content);
    if (!r) return;
    (void)parse_created(r->body);
    (void)parse_stat(r->body);
    (void)parse_data(r->body);
    (void)parse_event(r->body);
    (void)parse_transaction(r->body);
    if (const auto found = parse_children(r->body)) {
        // A name takes at least its length.
        if (found->names.size() > r->body.size() / 4) std::abort();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::size_t step = std::size_t{data[0]} + 1;
    const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};
    parse_all(bytes);

    frame_reader frames;
    std::size_t seen = 0;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        frames.feed(bytes.substr(at, step));
        while (const auto content = frames.next()) {
            seen += content->size() + 4;
            if (seen > bytes.size()) std::abort();
            parse_all(*content);
        }
        if (frames.broken()) return 0;
    }
    return 0;
}
