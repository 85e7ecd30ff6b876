// For any bytes, split in any way, the parser returns got, need_more or error, and nothing else happens.
// The first byte is the size of the fragments.
#include "redis/protocol/reply.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

using holdfast::redis::parser;
using holdfast::redis::reply;

namespace {

std::size_t elements(const reply& r) {
    std::size_t n = 1;
    for (const auto& item : r.items()) n += elements(item);
    return n;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::size_t step = std::size_t{data[0]} + 1;
    const std::string_view bytes{reinterpret_cast<const char*>(data) + 1, size - 1};

    holdfast::redis::size_caps caps;
    caps.bulk_bytes = 4096;
    caps.elements = 4096;
    parser p{caps};
    for (std::size_t at = 0; at < bytes.size(); at += step) {
        p.feed(bytes.substr(at, step));
        reply r;
        for (;;) {
            const auto got = p.next(r);
            if (got == parser::result::error) {
                if (p.error_text().empty()) std::abort();
                return 0;
            }
            if (got == parser::result::need_more) break;
            // Each element took at least three bytes ("+\r\n").
            if (elements(r) > bytes.size() / 3 + 1) std::abort();
        }
    }
    return 0;
}
