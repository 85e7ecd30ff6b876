#include "backends/common/message.hpp"

#include "store/requests.hpp"

#include <charconv>

namespace holdfast::backends {

namespace {

constexpr std::string_view known = "hfegdo";

std::optional<std::string_view> next_field(std::string_view& rest) {
    const auto space = rest.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    const auto field = rest.substr(0, space);
    rest.remove_prefix(space + 1);
    return field;
}

}  // namespace

std::string to_text(const message& m) {
    std::string text{static_cast<char>(m.is)};
    text.append(" ").append(std::to_string(static_cast<unsigned>(m.of)));
    text.append(" ").append(m.owner.str());
    text.append(" ").append(m.ticket);
    text.append(" ").append(m.asker);
    return text.append(" ").append(m.name);
}

std::optional<message> message_of(std::string_view text) {
    const auto is = next_field(text);
    const auto of = next_field(text);
    const auto owner = next_field(text);
    const auto ticket = next_field(text);
    const auto asker = next_field(text);
    if (!is || !of || !owner || !ticket || !asker) return std::nullopt;
    if (is->size() != 1 || known.find(is->front()) == std::string_view::npos) return std::nullopt;
    unsigned number = 0;
    const auto [end, ec] = std::from_chars(of->data(), of->data() + of->size(), number);
    if (ec != std::errc{} || end != of->data() + of->size() || number >= backend::kinds) return std::nullopt;
    if (text.empty() || text.size() > lock_name::max_size) return std::nullopt;
    return message{static_cast<message::what>(is->front()), std::string{text},    static_cast<kind>(number),
                   owner_id{std::string{*owner}},           std::string{*ticket}, std::string{*asker}};
}

}  // namespace holdfast::backends
