#include "support/resp.hpp"

#include <charconv>
#include <stdexcept>

namespace holdfast::test {

namespace {

// The first line of `bytes`, without its end; nullopt if the end has not come yet.
std::optional<std::string_view> first_line(std::string_view bytes) {
    const auto end = bytes.find("\r\n");
    if (end == std::string_view::npos) return std::nullopt;
    return bytes.substr(0, end);
}

long length_in(std::string_view line) {
    long value = 0;
    const auto [end, error] = std::from_chars(line.data() + 1, line.data() + line.size(), value);
    if (error != std::errc{} || end != line.data() + line.size()) throw std::runtime_error{"RESP: no length"};
    return value;
}

}  // namespace

std::optional<std::size_t> resp_message_length(std::string_view bytes) {
    const auto line = first_line(bytes);
    if (!line || line->empty()) return std::nullopt;
    const std::size_t head = line->size() + 2;
    switch (line->front()) {
        case '+':
        case '-':
        case ':': return head;
        case '$': {
            const long n = length_in(*line);
            const std::size_t total = n < 0 ? head : head + static_cast<std::size_t>(n) + 2;
            if (bytes.size() < total) return std::nullopt;
            return total;
        }
        case '*': {
            std::size_t total = head;
            for (long left = length_in(*line); left > 0; --left) {
                const auto item = resp_message_length(bytes.substr(total));
                if (!item) return std::nullopt;
                total += *item;
            }
            return total;
        }
        default: throw std::runtime_error{"RESP: unknown type"};
    }
}

std::vector<std::string> resp_words(std::string_view message) {
    std::vector<std::string> words;
    const auto head = first_line(message);
    if (!head || head->empty() || head->front() != '*') return words;
    message.remove_prefix(head->size() + 2);
    while (!message.empty()) {
        const auto size = resp_message_length(message);
        const auto line = first_line(message);
        if (!size || !line) return words;
        if (line->front() == '$' && *size > line->size() + 2) {
            words.emplace_back(message.substr(line->size() + 2, *size - line->size() - 4));
        } else {
            words.emplace_back(line->substr(1));
        }
        message.remove_prefix(*size);
    }
    return words;
}

}  // namespace holdfast::test
