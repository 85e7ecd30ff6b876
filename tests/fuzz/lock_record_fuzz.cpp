// Any bytes are either no record, or a record that is written as the same bytes and accepts every request.
#include "engine/kinds.hpp"
#include "engine/lock_record.hpp"

#include <cstdint>
#include <cstdlib>

using namespace holdfast;
using namespace holdfast::engine;

namespace {

template <class Request>
void try_out(lock_record r, const Request& q) {
    const circumstances now{store_time{std::chrono::hours{1}}, 7, fence{32}, {}, std::chrono::minutes{1}};
    (void)apply(r, q, now);
    const auto again = from_bytes(to_bytes(r));
    if (!again || *again != r) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes{reinterpret_cast<const char*>(data), size};
    const auto record = from_bytes(bytes);
    if (!record) return 0;
    if (to_bytes(*record) != bytes) std::abort();
    const auto owner = record->holders.empty() ? owner_id{"me"} : record->holders.front().owner;
    for (const auto& rules : kind_table) {
        const backend::lock_key key{rules.of, "job"};
        try_out(*record,
                backend::attempt_request{key, owner, std::chrono::seconds{1}, backend::intent::queue});
        try_out(*record, backend::renew_request{key, owner, std::chrono::seconds{1}});
        try_out(*record, backend::release_request{key, owner, true});
        try_out(*record,
                backend::adjust_request{key, backend::adjustment::add, 1, owner_id{"operation"}, owner});
        try_out(*record, backend::adjust_request{key, backend::adjustment::release, 0, {}, owner});
    }
    return 0;
}
