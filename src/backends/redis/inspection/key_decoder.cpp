#include "backends/redis/inspection/key_decoder.hpp"

#include "backends/redis/wire/keys.hpp"
#include "backends/redis/wire/permit_id.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <utility>

namespace holdfast::redis_backend {

namespace {

using namespace backend;

std::string_view cut(std::string_view& text, char separator) {
    const auto at = std::min(text.find(separator), text.size());
    const auto head = text.substr(0, at);
    text.remove_prefix(std::min(at + 1, text.size()));
    return head;
}

std::optional<maker> maker_of_permit(std::string_view id) {
    const auto by = permit_id::read(id);
    if (!by || !is_time(by->serial)) return std::nullopt;
    return maker{base::to_base64url(by->client), by->serial};
}

// The permits of one kind, from the answer of peek.lua.
struct permits_out {
    std::int64_t out = 0;
    std::span<const redis::reply> shown;
    std::span<const redis::reply> run_out;  // expired: the next use of the semaphore returns them

    explicit permits_out(const redis::reply& answer) {
        const auto parts = answer.items();
        if (parts.size() != 3) return;
        out = parts[0].integer();
        shown = parts[1].items();
        run_out = parts[2].items();
    }
};

// A member is a token and its number of permits.
std::pair<std::string_view, std::uint32_t> token_and_permits(std::string_view member) {
    const auto last = std::min(member.rfind('|'), member.size());
    const auto permits = last < member.size() ? number<std::uint32_t>(member.substr(last + 1)) : std::nullopt;
    return {member.substr(0, last), permits.value_or(1)};
}

}  // namespace

void parse_clients(std::string_view lines, clients& found) {
    while (!lines.empty()) {
        auto line = cut(lines, '\n');
        while (!line.empty()) {
            auto field = cut(line, ' ');
            if (!field.starts_with("name=holdfast:")) continue;
            field.remove_prefix(std::string_view{"name=holdfast:"}.size());
            const auto id = cut(field, ':');
            const auto pid = cut(field, ':');
            const auto host = cut(field, ':');
            found.known[std::string{id}] = {std::string{host}, number<std::int64_t>(pid).value_or(0)};
        }
    }
}

std::optional<maker> maker_of_token(std::string_view token) {
    if (token.size() < 24 || token[22] != '|') return std::nullopt;
    const auto serial = number<std::int64_t>(token.substr(23));
    if (!serial) return std::nullopt;
    return maker{std::string{token.substr(0, 22)}, serial};
}

std::optional<maker> maker_of_redisson_owner(std::string_view owner) {
    if (owner.size() < 38 || owner[36] != ':') return std::nullopt;
    const auto id = base::client_id::base64url_of_uuid(owner.substr(0, 36));
    const auto thread = number<std::int64_t>(owner.substr(37));
    if (id.empty() || !thread) return std::nullopt;
    return maker{id, thread};
}

holder_info holder_of(std::string owner, const std::optional<maker>& by, const clients& connected) {
    holder_info h;
    h.owner = std::move(owner);
    if (!by) return h;
    if (by->serial && is_time(*by->serial)) {
        h.since = std::chrono::system_clock::time_point{std::chrono::microseconds{*by->serial}};
        h.ask_at = by->short_id;
    }
    if (const auto it = connected.known.lower_bound(by->short_id);
        it != connected.known.end() && it->first.starts_with(by->short_id)) {
        h.host = it->second.host;
        h.pid = it->second.pid;
        h.client = presence::connected;
        if (h.since) h.ask_at = it->first;  // a permit's id has only the beginning of it
    } else if (connected.all && h.since) {
        h.client = presence::gone;
    }
    return h;
}

namespace {

// The key holds a number. It is a semaphore if permits are held; otherwise it may be anything. False: the key
// expires, so it is no semaphore but may be a lock with a number as its token.
bool decode_permits(lock_info& info, std::span<const redis::reply> content, const clients& connected) {
    const permits_out counted{content[1]};
    const permits_out with_ids{content[2]};
    for (const auto& member : counted.shown) {
        const auto [token, permits] = token_and_permits(member.text());
        auto h = holder_of(member.text(), maker_of_token(token), connected);
        h.holds = permits;
        info.holders.push_back(std::move(h));
        info.layout = type_name(kind::semaphore);
        info.ours = true;
    }
    for (const auto& id : with_ids.shown) {
        const auto by = maker_of_permit(id.text());
        auto& holder = info.holders.emplace_back(holder_of(base::to_hex(id.text()), by, connected));
        if (by) holder.lease = base::to_hex(permit_id::read(id.text())->bytes());
        info.layout = type_name(kind::permit_semaphore);
        info.ours = info.ours || by;
    }
    if (info.holders.empty() && info.ttl) return false;
    if (info.holders.empty()) info.layout = "counter";
    info.more_holders = static_cast<std::uint64_t>(counted.out + with_ids.out) - info.holders.size();
    info.count = number<std::int64_t>(content[0].text());
    if (!info.count) return true;
    for (const auto& member : counted.run_out) *info.count += token_and_permits(member.text()).second;
    *info.count += static_cast<std::int64_t>(with_ids.run_out.size());
    return true;
}

void decode_string(lock_info& info, const redis::reply& token_text, const redis::reply& size,
                   const clients& connected) {
    const auto& token = token_text.text();
    const auto by = maker_of_token(token);
    info.ours = by.has_value();
    info.layout = by ? type_name(kind::native) : "foreign string";
    if (!by) info.bytes = static_cast<std::uint64_t>(size.integer());
    info.holders.push_back(holder_of(token, by, connected));
}

// A field of the hash that is not `mode`. False: it is no owner.
bool decode_owner(lock_info& info, std::string owner, const redis::reply& holds, const clients& connected) {
    // "<owner>:write" is the writer of a shared mutex.
    const bool writes = owner.ends_with(":write");
    if (writes) owner.resize(owner.size() - 6);
    const auto by = maker_of_redisson_owner(owner);
    auto h = holder_of(std::move(owner), by, connected);
    h.writes = writes;
    h.holds = number<std::uint32_t>(holds.text()).value_or(1);
    info.ours = info.ours || h.since.has_value();
    info.holders.push_back(std::move(h));
    return by.has_value();
}

// `companion` says which other key of a lock there is.
void decode_hash(lock_info& info, std::span<const redis::reply> content, std::string_view companion,
                 const redis::reply& more_holders, const clients& connected) {
    bool all_owners = !content.empty();
    bool read_write = false;
    info.more_holders = static_cast<std::uint64_t>(more_holders.integer());
    for (std::size_t i = 0; i + 1 < content.size(); i += 2) {
        const auto& field = content[i].text();
        if (field != "mode") {
            all_owners = decode_owner(info, field, content[i + 1], connected) && all_owners;
            continue;
        }
        read_write = true;
        const auto& mode = content[i + 1].text();
        all_owners = all_owners && (mode == "read" || mode == "write");
    }
    // A fair mutex without waiters, and a fenced mutex that was never held, look like a recursive mutex.
    info.layout = !all_owners            ? "foreign hash"
                  : read_write           ? type_name(kind::shared_write)
                  : companion == "line"  ? type_name(kind::fair)
                  : companion == "token" ? type_name(kind::recursive_fenced)
                                         : type_name(kind::recursive);
    if (!all_owners) {
        info.holders.clear();
        info.more_holders = 0;
        info.ours = false;
    }
}

}  // namespace

lock_info decode_key(lock_name name, const redis::reply& seen, const clients& connected) {
    lock_info info{std::move(name), "free", false, {}, {}, {}, {}, {}};
    const auto parts = seen.items();
    if (parts.size() != 5) return info;
    const auto& type = parts[0].text();
    const auto content = parts[2].items();
    if (type == "none") return info;
    if (parts[1].integer() >= 0) info.ttl = milliseconds{parts[1].integer()};
    if (const auto purpose = purpose_of_own_key(info.name.str()); !purpose.empty()) {
        info.layout = "no lock: " + std::string{purpose};
        info.ours = true;
    } else if (type == "string" && content.size() == 3 && decode_permits(info, content, connected)) {
        // It holds a number.
    } else if (type == "string" && !content.empty()) {
        decode_string(info, content[0], parts[4], connected);
    } else if (type == "hash") {
        decode_hash(info, content, parts[3].text(), parts[4], connected);
    } else {
        info.layout = "foreign " + type;
    }
    return info;
}

bool is_helper(std::string_view key) {
    constexpr std::array prefixes{
        std::string_view{"redisson_unlock_latch:"}, std::string_view{"redisson_lock_queue:"},
        std::string_view{"redisson_lock_timeout:"}, std::string_view{"redisson_lock_token:"}};
    return is_helper_key(key) ||
           std::any_of(prefixes.begin(), prefixes.end(), [&](auto p) { return key.starts_with(p); }) ||
           key.find(":rwlock_timeout:") != std::string_view::npos;
}

bool may_be_foreign_lock(const lock_info& info) {
    if (info.layout != "foreign string" || !info.ttl || info.holders.size() != 1) return false;
    const auto& text = info.holders.front().owner;
    if (info.bytes < 16 || info.bytes > 64) return false;
    // By default redis-py writes the 16 bytes of a UUID.
    const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view{"-_+/=:|.@"}.find(static_cast<char>(c)) != std::string_view::npos;
    });
    return plain || info.bytes == 16;
}

bool is_lock(const lock_info& info) { return kind_shown_as(info.layout) && info.layout != "foreign string"; }

std::optional<kind> kind_shown_as(std::string_view layout) {
    if (layout == type_name(kind::native) || layout == "foreign string") return kind::native;
    if (layout == type_name(kind::recursive) || layout == type_name(kind::recursive_fenced))
        return kind::recursive;
    if (layout == type_name(kind::fair)) return kind::fair;
    if (layout == type_name(kind::shared_write)) return kind::shared_write;
    if (layout == type_name(kind::semaphore)) return kind::semaphore;
    if (layout == type_name(kind::permit_semaphore)) return kind::permit_semaphore;
    return std::nullopt;
}

}  // namespace holdfast::redis_backend
