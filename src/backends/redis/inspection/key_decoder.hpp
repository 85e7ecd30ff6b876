// Derives a lock from the content of its key, and the clients that hold it from their owner texts.
#pragma once

#include "redis/protocol/reply.hpp"
#include "store/inspection.hpp"

#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::redis_backend {

struct client_entry {
    std::string host;
    std::int64_t pid = 0;
};
struct clients {
    std::map<std::string, client_entry, std::less<>> known;  // by 22-character id
    bool all = true;  // false: some server did not list its clients, so a client not listed may be connected
};

// Reads CLIENT LIST, one line for each client. The name of a client of ours has its id, host and pid.
void parse_clients(std::string_view lines, clients& found);

template <class Int>
std::optional<Int> number(std::string_view text) {
    Int n{};
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return n;
}

// The parts of an owner as a kind of lock writes it: the client that made it, and when.
struct maker {
    std::string short_id;                // or its beginning: a permit's id has no room for all of it
    std::optional<std::int64_t> serial;  // microseconds since 1970 for ours
};

[[nodiscard]] std::optional<maker> maker_of_token(std::string_view token);
[[nodiscard]] std::optional<maker> maker_of_redisson_owner(std::string_view owner);
// Our serials are times, here from 2020 to 2100; thread ids of Java are small.
[[nodiscard]] constexpr bool is_time(std::int64_t serial) {
    return serial > 1'577'836'800'000'000 && serial < 4'102'444'800'000'000;
}
[[nodiscard]] backend::holder_info holder_of(std::string owner, const std::optional<maker>& by,
                                             const clients& connected);

// Decodes one key from the answer of peek.lua.
[[nodiscard]] backend::lock_info decode_key(lock_name name, const redis::reply& seen,
                                            const clients& connected);

// Whether the key is a helper key of a lock. A lock may have such a name, too; `inspect` finds it.
[[nodiscard]] bool is_helper(std::string_view key);
[[nodiscard]] bool is_lock(const backend::lock_info& info);
// A string that expires and whose text looks like the token of another client's lock: redis-py, redsync,
// python-redis-lock, node-redlock and others write 16 to 64 letters, digits and signs without a space. It may
// be something else, such as the id of a session.
[[nodiscard]] bool may_be_foreign_lock(const backend::lock_info& info);

// The kind of a lock that can be evicted, from lock_info::layout. Empty if the key is no lock.
[[nodiscard]] std::optional<backend::kind> kind_shown_as(std::string_view layout);

}  // namespace holdfast::redis_backend
