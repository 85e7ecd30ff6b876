#include "redis/protocol/errors.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace holdfast::redis {

namespace {

struct row {
    std::string_view word;
    errc code;
};

constexpr std::array rows{
    row{"LOADING", errc::busy_server},     // loads its data after a start
    row{"READONLY", errc::busy_server},    // a replica; a failover is under way or done
    row{"BUSY", errc::busy_server},        // runs a slow script
    row{"MISCONF", errc::busy_server},     // cannot save, so it takes no writes
    row{"MASTERDOWN", errc::busy_server},  // a replica without its master
    row{"TRYAGAIN", errc::busy_server},    // a cluster moves the slot
    row{"CLUSTERDOWN", errc::busy_server},
    row{"NOREPLICAS", errc::busy_server},  // too few replicas are connected
    row{"OOM", errc::out_of_memory},
    row{"NOPERM", errc::no_permission},
    row{"NOAUTH", errc::no_permission},
    row{"WRONGPASS", errc::no_permission},
    row{"DENIED", errc::no_permission},  // protected mode
    row{"WRONGTYPE", errc::wrong_kind},
    row{"MOVED", errc::invalid_argument},  // received only if a cluster is used as a single server
    row{"ASK", errc::invalid_argument},
};

// The server takes a key that the script found and then removed itself for one that has moved with the slot.
constexpr std::string_view torn_script = "Script attempted to access a non local key";

// Sentences of older servers, which have no word for it, and of ACL errors in scripts, which have no word in
// Redis 7.0, in 7.2 and in Valkey.
constexpr std::array<std::pair<std::string_view, errc>, 8> sentences{{
    {"invalid password", errc::no_permission},
    {"invalid username-password", errc::no_permission},
    {"without any password configured", errc::no_permission},
    {"no password is set", errc::no_permission},
    {"The user executing the script can't", errc::no_permission},
    {"ACL failure in script", errc::no_permission},
    {torn_script, errc::unknown_outcome},
    {"while the cluster is down", errc::busy_server},
}};

bool is_word(std::string_view w) noexcept {
    return w.size() > 1 && std::all_of(w.begin(), w.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::string_view first_word(std::string_view text) noexcept {
    const auto word = text.substr(0, text.find_first_of(" \r\n"));
    return is_word(word) ? word : std::string_view{};
}

}  // namespace

std::string_view error_word(std::string_view text) noexcept {
    if (text.starts_with('-')) text.remove_prefix(1);
    const auto word = first_word(text);
    // Before Redis 7, an error that a script caught and returned begins with its position.
    if (word != "ERR" && !text.starts_with("@user_script")) return word;
    // An error inside a script, wrapped by a server before 7: "...: @user_script:1: -OOM ..." or, raised by
    // the script itself, "...: @user_script: 1: OOM ...". Only there: elsewhere the words may be a caller's.
    // Errors of nested calls are wrapped more than once; the innermost word counts.
    auto rest = text.substr(std::min(text.find("@user_script"), text.size()));
    while (rest.starts_with("@user_script")) {
        for (int colons = 0; colons < 2; ++colons) {
            const auto colon = rest.find(':');
            if (colon == std::string_view::npos) return word;
            rest.remove_prefix(colon + 1);
        }
        rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    }
    if (rest.starts_with('-')) rest.remove_prefix(1);
    if (const auto inner = first_word(rest); !inner.empty()) return inner;
    return word;
}

std::error_code classify(std::string_view text) noexcept {
    const auto word = error_word(text);
    for (const auto& r : rows)
        if (r.word == word) return r.code;
    for (const auto& [sentence, code] : sentences)
        if (text.find(sentence) != std::string_view::npos) return code;
    return is_unknown_command(text) ? errc::invalid_argument : errc::bad_reply;
}

bool is_noscript(std::string_view text) noexcept { return text.starts_with("NOSCRIPT"); }

bool is_unknown_command(std::string_view text) noexcept {
    constexpr std::array words{"unknown command", "Unknown Redis command", "Unknown command"};
    return std::any_of(words.begin(), words.end(),
                       [&](const auto* w) { return text.find(w) != std::string_view::npos; });
}

bool is_tryagain(std::string_view text) noexcept { return text.starts_with("TRYAGAIN"); }

bool is_torn(std::string_view text) noexcept { return text.find(torn_script) != std::string_view::npos; }

bool is_readonly(std::string_view text) noexcept { return error_word(text) == "READONLY"; }

bool is_no_master(std::string_view text) noexcept {
    const auto word = error_word(text);
    return word == "READONLY" || word == "MASTERDOWN" || word == "LOADING";
}

}  // namespace holdfast::redis
