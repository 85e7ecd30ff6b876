// Where a RESP2 message ends, and the words of a command. Just enough to count and select passing messages.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

// The length of the first whole message of `bytes`; nullopt if more must be read.
// Throws std::runtime_error if this is not RESP2.
[[nodiscard]] std::optional<std::size_t> resp_message_length(std::string_view bytes);

// The strings of one whole message that is a flat array, such as a command or a published message.
// Items that are not bulk strings come out as their text. Empty for other messages.
[[nodiscard]] std::vector<std::string> resp_words(std::string_view message);

}  // namespace holdfast::test
