#include "backends/zookeeper/node_data.hpp"

#include "base/text.hpp"
#include "engine/kinds.hpp"

#include <unistd.h>

#include <array>
#include <charconv>

namespace holdfast::zookeeper_backend {

namespace {

constexpr std::string_view ours = "holdfast ";

std::string_view first_word(std::string_view& text) {
    const auto word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    return word;
}

// "mutex", "mutex+fenced": kinds of one type are told apart.
std::string word_of(backend::kind of) {
    const auto& rules = engine::rules_of(of);
    std::string word{type_name(of)};
    if (rules.fenced) word += "+fenced";
    if (of == backend::kind::shared_read) word += "+read";
    return word;
}

}  // namespace

std::string to_bytes(const node_data& d) {
    return std::string{ours} + word_of(d.of) + ' ' + d.host + ' ' + std::to_string(d.pid) + ' ' +
           std::to_string(d.holds);
}

std::optional<node_data> parse_node_data(std::string_view bytes) {
    if (!bytes.starts_with(ours)) return std::nullopt;
    bytes.remove_prefix(ours.size());
    const auto word = first_word(bytes);
    for (const auto& rules : engine::kind_table) {
        if (word_of(rules.of) != word) continue;
        node_data found;
        found.of = rules.of;
        found.host = first_word(bytes);
        const auto pid = first_word(bytes);
        (void)std::from_chars(pid.data(), pid.data() + pid.size(), found.pid);
        (void)std::from_chars(bytes.data(), bytes.data() + bytes.size(), found.holds);
        return found;
    }
    return std::nullopt;
}

node_data own_data(backend::kind of) {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
    std::string plain{host.data()};
    for (auto& c : plain)
        if (c <= ' ' || c > '~') c = '_';
    return {of, plain, ::getpid(), 1};
}

}  // namespace holdfast::zookeeper_backend
