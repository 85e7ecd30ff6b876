// What a configuration centre says about the store: the text of a file or of an entry there. As a whole it is
// good or bad; a bad one changes nothing.
//
//     {"holdfast": 1, "serial": 42, "by": "li", "reason": "redis upgrade",
//      "groups": {"default": {"mode": "fallback"}}, "breaker": {"forced": "no"}}
//
// or, in properties or as a member of a JSON object, only this:
//
//     distributed.lock.use-redis=false
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace holdfast::fallback {

// What is wished for: the store, to do without it, or that the clients find out by themselves.
enum class mode { store, fallback, automatic };

enum class forced_breaker { no, open, closed };

struct document {
    std::optional<std::uint64_t> serial{};  // none in properties
    std::string by{};                       // who wrote it, and why: for people
    std::string reason{};
    std::map<std::string, mode> groups{};
    forced_breaker breaker = forced_breaker::no;
};

// Why a document is bad. Never has text of the document.
struct bad_document {
    std::string field;  // "groups.default.mode"; empty: all of it
    std::string why;
};

// `last`: the serial of the last good one, which this one must be above.
[[nodiscard]] std::variant<document, bad_document> read_document(std::string_view text,
                                                                 std::optional<std::uint64_t> last);

inline constexpr std::size_t largest_document = 64 * 1024;
inline constexpr std::string_view default_group = "default";

}  // namespace holdfast::fallback
