#include "backends/redis/inspection.hpp"

#include "backends/redis/answers.hpp"
#include "backends/redis/keys.hpp"
#include "backends/redis/permit_id.hpp"
#include "base/clock.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

#include <unistd.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <utility>

namespace holdfast::redis_backend {

namespace {

using namespace backend;

constexpr std::string_view connection_prefix = "holdfast:";

struct client_entry {
    std::string host;
    std::int64_t pid = 0;
};
using clients = std::map<std::string, client_entry, std::less<>>;  // by 22-character id

template <class Int>
std::optional<Int> number(std::string_view text) {
    Int n{};
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return n;
}

std::string_view cut(std::string_view& text, char separator) {
    const auto at = std::min(text.find(separator), text.size());
    const auto head = text.substr(0, at);
    text.remove_prefix(std::min(at + 1, text.size()));
    return head;
}

// One line of CLIENT LIST a client; ours say who they are in their name.
clients parse_clients(std::string_view lines) {
    clients found;
    while (!lines.empty()) {
        auto line = cut(lines, '\n');
        while (!line.empty()) {
            auto field = cut(line, ' ');
            if (!field.starts_with("name=holdfast:")) continue;
            field.remove_prefix(std::string_view{"name=holdfast:"}.size());
            const auto id = cut(field, ':');
            const auto pid = cut(field, ':');
            const auto host = cut(field, ':');
            found[std::string{id}] = {std::string{host}, number<std::int64_t>(pid).value_or(0)};
        }
    }
    return found;
}

// An owner as a layout writes it, taken apart: who made it, and when.
struct maker {
    std::string short_id;                // or how it begins: a permit's id has no room for all of it
    std::optional<std::int64_t> serial;  // microseconds since 1970 for ours
};

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

// Serials of ours are times; thread ids of Java are small. 2020 to 2100.
bool is_time(std::int64_t serial) { return serial > 1'577'836'800'000'000 && serial < 4'102'444'800'000'000; }

std::optional<maker> maker_of_permit(std::string_view id) {
    const auto by = permit_id::read(id);
    if (!by || !is_time(by->serial)) return std::nullopt;
    return maker{base::to_base64url(by->client), by->serial};
}

holder_info holder_of(std::string owner, const std::optional<maker>& by, const clients& connected) {
    holder_info h;
    h.owner = std::move(owner);
    if (!by) return h;
    if (by->serial && is_time(*by->serial)) {
        h.since = std::chrono::system_clock::time_point{std::chrono::microseconds{*by->serial}};
    }
    if (const auto it = connected.lower_bound(by->short_id);
        it != connected.end() && it->first.starts_with(by->short_id)) {
        h.host = it->second.host;
        h.pid = it->second.pid;
        h.connected = true;
    }
    return h;
}

// What peek.lua says of the permits of one kind.
struct permits_out {
    std::int64_t out = 0;
    std::span<const redis::reply> shown;
    std::span<const redis::reply> run_out;  // free again: whoever uses the semaphore next brings them back

    explicit permits_out(const redis::reply& said) {
        const auto parts = said.items();
        if (parts.size() != 3) return;
        out = parts[0].integer();
        shown = parts[1].items();
        run_out = parts[2].items();
    }
};

// A member is a token and how many permits it stands for.
std::pair<std::string_view, std::uint32_t> token_and_permits(std::string_view member) {
    const auto last = std::min(member.rfind('|'), member.size());
    const auto permits = last < member.size() ? number<std::uint32_t>(member.substr(last + 1)) : std::nullopt;
    return {member.substr(0, last), permits.value_or(1)};
}

// A number: of a semaphore if permits of it are out, else it may be anything. False: it ends by itself, as no
// semaphore does and a lock with a number for a token.
bool describe_permits(lock_info& info, std::span<const redis::reply> content, const clients& connected) {
    const permits_out counted{content[1]};
    const permits_out with_ids{content[2]};
    for (const auto& member : counted.shown) {
        const auto [token, permits] = token_and_permits(member.text());
        auto h = holder_of(member.text(), maker_of_token(token), connected);
        h.holds = permits;
        info.holders.push_back(std::move(h));
        info.layout = "counting_semaphore";
        info.ours = true;
    }
    for (const auto& id : with_ids.shown) {
        const auto by = maker_of_permit(id.text());
        info.holders.push_back(holder_of(base::to_hex(id.text()), by, connected));
        info.layout = "permit_semaphore";
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

// What peek.lua said of one key.
lock_info describe(lock_name name, const redis::reply& seen, const clients& connected) {
    lock_info info{std::move(name), "free", false, {}, {}, {}, {}, {}};
    const auto parts = seen.items();
    if (parts.size() != 5) return info;
    const auto& type = parts[0].text();
    const auto content = parts[2].items();
    if (type == "none") return info;
    if (parts[1].integer() >= 0) info.ttl = milliseconds{parts[1].integer()};
    if (type == "string" && content.size() == 3 && describe_permits(info, content, connected)) return info;
    if (type == "string" && !content.empty()) {
        const auto& token = content[0].text();
        const auto by = maker_of_token(token);
        info.ours = by.has_value();
        info.layout = by ? "mutex" : "foreign string";
        info.holders.push_back(holder_of(token, by, connected));
        return info;
    }
    if (type != "hash") {
        info.layout = "foreign " + type;
        return info;
    }
    bool all_owners = !content.empty();
    bool read_write = false;
    info.more_holders = static_cast<std::uint64_t>(parts[4].integer());
    for (std::size_t i = 0; i + 1 < content.size(); i += 2) {
        const auto& field = content[i].text();
        if (field == "mode") {
            read_write = true;
            const auto& mode = content[i + 1].text();
            all_owners = all_owners && (mode == "read" || mode == "write");
            continue;
        }
        // "<owner>:write" is the writer of a shared mutex.
        auto owner = field;
        const bool writes = owner.ends_with(":write");
        if (writes) owner.resize(owner.size() - 6);
        const auto by = maker_of_redisson_owner(owner);
        all_owners = all_owners && by.has_value();
        auto h = holder_of(std::move(owner), by, connected);
        h.writes = writes;
        h.holds = number<std::uint32_t>(content[i + 1].text()).value_or(1);
        info.ours = info.ours || h.since.has_value();
        info.holders.push_back(std::move(h));
    }
    // A fair one without waiters, and a fenced one that was never held, look like a recursive one.
    const auto& beside = parts[3].text();
    info.layout = !all_owners         ? "foreign hash"
                  : read_write        ? "shared_mutex"
                  : beside == "line"  ? "fair_mutex"
                  : beside == "token" ? "fenced_mutex"
                                      : "recursive_mutex";
    if (!all_owners) {
        info.holders.clear();
        info.more_holders = 0;
        info.ours = false;
    }
    return info;
}

// For peek.lua.
std::array<std::string, 4> keys_beside(const std::string& name) {
    return {helper_key('p', name), redisson_suffixed(name, "timeout"),
            redisson_prefixed("redisson_lock_queue", name), redisson_prefixed("redisson_lock_token", name)};
}

// Keys that stand beside locks. A lock may be named so all the same; `inspect` finds it.
bool is_helper(std::string_view key) {
    constexpr std::array prefixes{
        std::string_view{"redisson_unlock_latch:"}, std::string_view{"redisson_lock_queue:"},
        std::string_view{"redisson_lock_timeout:"}, std::string_view{"redisson_lock_token:"}};
    return is_helper_key(key) ||
           std::any_of(prefixes.begin(), prefixes.end(), [&](auto p) { return key.starts_with(p); }) ||
           key.find(":rwlock_timeout:") != std::string_view::npos;
}

bool is_lock(const lock_info& info) { return kind_shown_as(info.layout) && info.layout != "foreign string"; }

constexpr std::size_t waiters_shown = 100;
const std::string last_shown = std::to_string(waiters_shown - 1);

// Questions change nothing, so "no answer" is as good as "not sent".
std::optional<failure> failed(const redis::outcome& o) {
    const auto no = without_reply<release_answer>(o);
    if (!no) return std::nullopt;
    if (const auto* r = std::get_if<refused>(&*no)) return failure{r->code, r->text};
    return failure{make_error_code(errc::unavailable), std::get<unknown>(*no).text};
}

// One question after another to the server; each step is sent when the one before is answered.
struct inspection : std::enable_shared_from_this<inspection> {
    surroundings& around;
    lock_name name;
    time_point deadline;
    handler<result<lock_info>> done;
    clients connected;
    lock_info info;

    inspection(surroundings& s, const lock_name& n, time_point d, handler<result<lock_info>> h)
        : around(s), name(n), deadline(d), done(std::move(h)), info{n, "free", false, {}, {}, {}, {}, {}} {}

    // A server that is not there is told after the time of one answer, however many there may be.
    [[nodiscard]] time_point soon() const {
        return std::min(deadline, boot_clock::now() + around.answer_timeout);
    }

    // CLIENT LIST may be forbidden; then nobody's host is known and the rest still is.
    void start() {
        around.node.command({"CLIENT", "LIST"}, soon(), [self = shared_from_this()](const redis::outcome& o) {
            const auto* r = std::get_if<redis::reply>(&o);
            if (r == nullptr) return self->done(*failed(o));  // no server
            self->connected = parse_clients(r->text());
            self->peek();
        });
    }

    void peek() {
        const auto beside = keys_beside(name.str());
        const std::vector<std::string_view> args(beside.begin(), beside.end());
        around.node.eval(ref(redis_scripts::peek), std::array<std::string_view, 1>{name.str()}, args, soon(),
                         [self = shared_from_this()](const redis::outcome& o) {
                             if (auto no = failed(o)) return self->done(*std::move(no));
                             const auto items = std::get<redis::reply>(o).items();
                             if (items.size() == 1)
                                 self->info = describe(self->name, items[0], self->connected);
                             self->queue();
                         });
    }

    void queue() {
        const auto key = helper_key('q', name.str());
        around.node.command({"ZRANGE", key, "0", last_shown, "WITHSCORES"}, soon(),
                            [self = shared_from_this(), key](const redis::outcome& o) {
                                if (const auto* r = std::get_if<redis::reply>(&o))
                                    self->read_queue(r->items());
                                self->count_waiters("ZCARD", key, [self] { self->fair_line(); });
                            });
    }

    void fair_line() {
        const auto key = redisson_prefixed("redisson_lock_queue", name.str());
        around.node.command({"LRANGE", key, "0", last_shown}, soon(),
                            [self = shared_from_this(), key](const redis::outcome& o) {
                                if (const auto* r = std::get_if<redis::reply>(&o))
                                    self->read_line(r->items());
                                self->count_waiters("LLEN", key, [self] { self->token(); });
                            });
    }

    // How many there are, if not all of them are known.
    template <class Next>
    void count_waiters(std::string_view command, const std::string& key, Next next) {
        if (info.queue.size() < waiters_shown) return next();
        around.node.command(
            {command, key}, soon(), [self = shared_from_this(), next](const redis::outcome& o) {
                if (const auto* r = std::get_if<redis::reply>(&o); r != nullptr && r->is_integer())
                    self->info.more_waiting = static_cast<std::uint64_t>(
                        std::max<std::int64_t>(0, r->integer() - static_cast<std::int64_t>(waiters_shown)));
                next();
            });
    }

    void read_line(std::span<const redis::reply> items) {
        const auto now = base::wall_microseconds();
        for (const auto& item : items) {
            const auto by = maker_of_redisson_owner(item.text());
            const auto h = holder_of(item.text(), by, connected);
            waiter_info w{h.owner, h.host, h.pid, std::nullopt};
            if (by && by->serial && is_time(*by->serial))
                w.waiting = milliseconds{std::max<std::int64_t>(0, now - *by->serial) / 1000};
            info.queue.push_back(std::move(w));
        }
    }

    void token() {
        const auto key = redisson_prefixed("redisson_lock_token", name.str());
        around.node.command({"GET", key}, soon(), [self = shared_from_this()](const redis::outcome& o) {
            if (const auto* r = std::get_if<redis::reply>(&o); r != nullptr && r->is_text()) {
                self->info.last_fence = number<std::uint64_t>(r->text());
            }
            self->last_fence();
        });
    }

    void read_queue(std::span<const redis::reply> items) {
        // Scores are the server's microseconds; its clock and ours agree well enough for a table.
        const auto now = base::wall_microseconds();
        for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto h = holder_of(items[i].text(), maker_of_token(items[i].text()), connected);
            waiter_info w{h.owner, h.host, h.pid, std::nullopt};
            if (const auto score = number<std::int64_t>(items[i + 1].text())) {
                w.waiting = milliseconds{std::max<std::int64_t>(0, now - *score) / 1000};
            }
            info.queue.push_back(std::move(w));
        }
    }

    void last_fence() {
        const auto key = helper_key('f', name.str());
        around.node.command({"GET", key}, soon(), [self = shared_from_this()](const redis::outcome& o) {
            if (const auto* r = std::get_if<redis::reply>(&o); r != nullptr && r->is_text()) {
                if (const auto unit = number<std::uint64_t>(r->text())) self->info.last_fence = *unit * 16;
            }
            self->done(std::move(self->info));
        });
    }
};

// SCAN, then a look at the keys of each page.
struct listing : std::enable_shared_from_this<listing> {
    surroundings& around;
    std::string pattern;
    time_point deadline;
    handler<result<std::vector<lock_info>>> done;
    clients connected;
    std::string cursor = "0";
    std::vector<lock_info> found;

    listing(surroundings& s, const std::string& glob, time_point d, handler<result<std::vector<lock_info>>> h)
        : around(s), deadline(d), done(std::move(h)) {
        // Redis knows [sets] and \escapes as well; ours does not.
        for (const char c : glob) {
            if (c == '[' || c == ']' || c == '\\' || c == '^') pattern += '\\';
            pattern += c;
        }
    }

    [[nodiscard]] time_point soon() const {
        return std::min(deadline, boot_clock::now() + around.answer_timeout);
    }

    void start() {
        around.node.command({"CLIENT", "LIST"}, soon(), [self = shared_from_this()](const redis::outcome& o) {
            const auto* r = std::get_if<redis::reply>(&o);
            if (r == nullptr) return self->done(*failed(o));  // no server
            self->connected = parse_clients(r->text());
            self->page();
        });
    }

    void page() {
        around.node.command({"SCAN", cursor, "MATCH", pattern, "COUNT", "100"}, soon(),
                            [self = shared_from_this()](const redis::outcome& o) { self->on_page(o); });
    }

    void on_page(const redis::outcome& o) {
        if (auto no = failed(o)) return done(*std::move(no));
        const auto items = std::get<redis::reply>(o).items();
        if (items.size() != 2) return done(failure{make_error_code(errc::bad_reply), "SCAN"});
        cursor = items[0].text();
        std::vector<std::string> names;
        for (const auto& key : items[1].items()) {
            const auto& text = key.text();
            if (!is_helper(text) && !text.empty() && text.size() <= lock_name::max_size)
                names.push_back(text);
        }
        if (names.empty()) return next();
        const std::vector<std::string_view> keys(names.begin(), names.end());
        std::vector<std::string> beside;
        for (const auto& name : names) {
            for (auto& key : keys_beside(name)) beside.push_back(std::move(key));
        }
        const std::vector<std::string_view> args(beside.begin(), beside.end());
        around.node.eval(ref(redis_scripts::peek), keys, args, soon(),
                         [self = shared_from_this(), names](const redis::outcome& answer) {
                             if (auto no = failed(answer)) return self->done(*std::move(no));
                             const auto seen = std::get<redis::reply>(answer).items();
                             for (std::size_t i = 0; i < std::min(seen.size(), names.size()); ++i) {
                                 auto info = describe(lock_name{names[i]}, seen[i], self->connected);
                                 if (is_lock(info)) self->found.push_back(std::move(info));
                             }
                             self->next();
                         });
    }

    void next() {
        if (cursor != "0") return page();
        // SCAN may name a key twice.
        std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
        found.erase(std::unique(found.begin(), found.end(),
                                [](const auto& a, const auto& b) { return a.name == b.name; }),
                    found.end());
        done(std::move(found));
    }
};

}  // namespace

void inspect(surroundings& around, const lock_name& name, time_point deadline,
             handler<result<lock_info>> done) {
    std::make_shared<inspection>(around, name, deadline, std::move(done))->start();
}

std::optional<kind> kind_shown_as(std::string_view layout) {
    if (layout == "mutex" || layout == "foreign string") return kind::native;
    if (layout == "recursive_mutex" || layout == "fenced_mutex") return kind::recursive;
    if (layout == "fair_mutex") return kind::fair;
    if (layout == "shared_mutex") return kind::shared_write;
    if (layout == "counting_semaphore") return kind::semaphore;
    if (layout == "permit_semaphore") return kind::permit_semaphore;
    return std::nullopt;
}

void list(surroundings& around, const std::string& glob, time_point deadline,
          handler<result<std::vector<lock_info>>> done) {
    std::make_shared<listing>(around, glob, deadline, std::move(done))->start();
}

std::string connection_name(std::string_view short_id, std::string_view program) {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    const auto plain = [](std::string_view text) {
        // CLIENT SETNAME takes no spaces and no control characters; ':' separates our fields.
        std::string out;
        for (const char c : text.substr(0, 64)) {
            const bool fine = c > ' ' && c < 127 && c != ':';
            out += fine ? c : '_';
        }
        return out;
    };
    std::string name{connection_prefix};
    name.append(short_id)
        .append(":")
        .append(std::to_string(::getpid()))
        .append(":")
        .append(plain(host.data()));
    return name.append(":").append(plain(program));
}

}  // namespace holdfast::redis_backend
