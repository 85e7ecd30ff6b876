#include "backends/zookeeper/names.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace holdfast::zookeeper_backend {

namespace {

using backend::kind;

constexpr std::string_view mutex_mark = "lock-";
constexpr std::string_view read_mark = "__READ__";
constexpr std::string_view write_mark = "__WRIT__";
constexpr std::string_view kazoo_mark = "__lock__";

// The number of bytes of the UTF-8 character at the front that a path may contain as it is; 0: none.
std::size_t plain_character(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) < 0x80) return byte(0) > 0x1f && byte(0) != 0x7f && text[0] != '%' && text[0] != '/' ? 1 : 0;
    const std::size_t size = byte(0) >= 0xe0 ? 3 : 2;
    // Longer ones are beyond U+FFFF, which the servers refuse.
    if (byte(0) < 0xc2 || byte(0) >= 0xf0 || text.size() < size) return 0;
    unsigned c = byte(0) & (size == 2 ? 0x1fU : 0x0fU);
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xc0U) != 0x80U) return 0;
        c = (c << 6U) | (byte(i) & 0x3fU);
    }
    if (size == 3 && c < 0x800) return 0;
    const bool refused = c <= 0x9f || (c >= 0xd800 && c <= 0xf8ff) || c >= 0xfff0;
    return refused ? 0 : size;
}

std::optional<std::int64_t> number(std::string_view text) {
    std::int64_t n = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (text.empty() || ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return n;
}

std::optional<std::int64_t> number_after(std::string_view name, std::string_view mark) {
    const auto at = name.rfind(mark);
    return at == std::string_view::npos ? std::nullopt : number(name.substr(at + mark.size()));
}

bool is_shared(role r) { return r == role::reader || r == role::writer; }
bool same_recipe(role a, role b) { return a == b || (is_shared(a) && is_shared(b)); }

// In the order of service.
std::vector<child> parsed(std::span<const std::string> children, naming by) {
    std::vector<child> all;
    all.reserve(children.size());
    for (const auto& name : children) all.push_back(parse_child(name, by));
    // A writer comes before the reader that has its number.
    std::sort(all.begin(), all.end(), [](const child& a, const child& b) {
        if (a.number != b.number) return a.number < b.number;
        const bool first = a.is == role::writer;
        return first != (b.is == role::writer) ? first : a.name < b.name;
    });
    return all;
}

// What keeps a child of this role and number from holding the lock, if `before` is in front of it.
const child* in_the_way(role is, std::int64_t number, std::span<const child> before) {
    if (before.empty()) return nullptr;
    if (is != role::reader) return &before.back();
    // A writer does not keep out the reader with its own number: it made that itself.
    const auto writer = std::find_if(before.begin(), before.end(), [number](const child& c) {
        return c.is == role::writer && c.number < number;
    });
    return writer == before.end() ? nullptr : &*writer;
}

std::optional<place> obstacle(role is, const std::vector<child>& all) {
    for (const auto& c : all) {
        if (!same_recipe(c.is, is)) return place{.is = place::what::mismatch, .alien = c.name};
        if (c.number < 0 || c.number >= highest_number) return place{.is = place::what::exhausted};
    }
    return std::nullopt;
}

}  // namespace

std::string escaped(std::string_view name) {
    std::string path;
    if (name == "." || name == "..") {
        for (const char c : name) path += "%" + base::to_hex({&c, 1});
        return path;
    }
    while (!name.empty()) {
        const auto plain = plain_character(name);
        if (plain == 0) path += "%" + base::to_hex(name.substr(0, 1));
        path += name.substr(0, plain);
        name.remove_prefix(std::max<std::size_t>(plain, 1));
    }
    return path;
}

std::optional<std::string> unescaped(std::string_view element) {
    std::string name;
    for (std::size_t i = 0; i < element.size(); ++i) {
        if (element[i] != '%') {
            name += element[i];
            continue;
        }
        const auto byte = i + 2 < element.size() ? base::from_hex(element.substr(i + 1, 2)) : std::string{};
        if (byte.empty()) return std::nullopt;
        name += byte;
        i += 2;
    }
    return escaped(name) == element ? std::optional{name} : std::nullopt;
}

child parse_child(std::string_view name, naming by) {
    const bool kazoos = by == naming::kazoo;
    const auto as = [&](role is, std::int64_t n) { return child{std::string{name}, is, n}; };
    if (const auto n = number_after(name, read_mark)) return as(role::reader, *n);
    if (const auto n = number_after(name, write_mark)) return as(role::writer, *n);
    if (const auto n = number_after(name, kazoo_mark)) return as(kazoos ? role::mutex : role::unseen, *n);
    if (const auto n = number_after(name, "__rlock__")) return as(role::unseen, *n);
    if (const auto n = number_after(name, mutex_mark)) return as(kazoos ? role::unseen : role::mutex, *n);
    if (const auto n = number_after(name, "lease-")) return as(role::permit, *n);
    return as(role::other, 0);
}

std::string owner_in(std::string_view name) {
    constexpr std::string_view guard = "_c_";
    constexpr std::size_t uuid_size = 36;
    if (const auto digits = name.find("__"); digits == 32) return uuid_of(name.substr(0, digits));
    if (!name.starts_with(guard) || name.size() <= guard.size() + uuid_size ||
        name[guard.size() + uuid_size] != '-')
        return std::string{name};
    return std::string{name.substr(guard.size(), uuid_size)};
}

std::string uuid_of(std::string_view owner) {
    constexpr std::size_t digits = 32;
    if (owner.size() < digits || base::from_hex(owner.substr(0, digits)).empty()) return std::string{owner};
    std::string uuid;
    for (const std::size_t part : {8U, 4U, 4U, 4U, 12U}) {
        uuid.append(uuid.empty() ? "" : "-").append(owner.substr(0, part));
        owner.remove_prefix(part);
    }
    return uuid;
}

role role_of(kind of) {
    if (of == kind::shared_read) return role::reader;
    return of == kind::shared_write ? role::writer : role::mutex;
}

std::string prefix_of(kind of, const owner_id& owner, naming by) {
    const auto is = role_of(of);
    if (by == naming::kazoo) {
        auto digits = uuid_of(owner.str());
        std::erase(digits, '-');
        return digits.append(kazoo_mark);
    }
    const auto mark = is == role::reader ? read_mark : is == role::writer ? write_mark : mutex_mark;
    return std::string{"_c_"}.append(uuid_of(owner.str())).append("-").append(mark);
}

std::string name_of_downgraded(const owner_id& reader, std::string_view writer) {
    const auto at = writer.rfind(write_mark);
    return prefix_of(kind::shared_read, reader) +
           std::string{at == std::string_view::npos ? "" : writer.substr(at + write_mark.size())};
}

place place_of(std::string_view name, std::span<const std::string> children, naming by) {
    const auto all = parsed(children, by);
    const auto own = std::find_if(all.begin(), all.end(), [name](const child& c) { return c.name == name; });
    if (own == all.end()) return {.is = place::what::missing};
    if (auto no = obstacle(own->is, all)) return *no;
    const std::span before{all.begin(), own};
    const auto* const other = in_the_way(own->is, own->number, before);
    if (other == nullptr) return {.is = place::what::holds, .followed = own + 1 != all.end()};
    return {.is = place::what::waits, .watch = other->name, .holder = owner_in(all.front().name)};
}

place place_of_newcomer(kind of, std::span<const std::string> children, naming by) {
    const auto all = parsed(children, by);
    if (auto no = obstacle(role_of(of), all)) return *no;
    const auto* const other = in_the_way(role_of(of), highest_number, all);
    if (other == nullptr) return {.is = place::what::holds};
    return {.is = place::what::waits, .watch = other->name, .holder = owner_in(all.front().name)};
}

listing sorted(std::span<const std::string> children, naming by) {
    listing found;
    std::vector<child> before;
    for (auto& c : parsed(children, by)) {
        if (c.is == role::other || c.is == role::unseen || c.is == role::permit) {
            found.others.push_back(std::move(c));
            continue;
        }
        const bool holds = in_the_way(c.is, c.number, before) == nullptr;
        before.push_back(c);
        (holds ? found.holders : found.waiters).push_back(std::move(c));
    }
    return found;
}

}  // namespace holdfast::zookeeper_backend
