// The messages between the clients of one store on this machine.
#pragma once

#include <holdfast/kind.hpp>
#include <holdfast/types.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::backends {

struct message {
    enum class what : char {
        handed_over = 'h',  // the lock was handed to `owner`, which waits with `ticket`
        free = 'f',         // the lock may be free: all its waiters try
        evict = 'e',        // `asker` asks the client of `owner` to give up the lock
        gave_up = 'g',      // the lease of `owner` has ended because of that
        drop = 'd',         // `asker` takes the lock from `owner`
        dropped = 'o',      // that was done: `owner` does not hold it any more
    };
    what is = what::free;
    std::string name{};  // of the lock
    kind of = kind::native;
    owner_id owner{};
    std::string ticket{};
    std::string asker{};

    friend bool operator==(const message&, const message&) = default;
};

// Fields in one line, the name last: it may contain any bytes.
[[nodiscard]] std::string to_text(const message&);
// Nothing for a text that to_text() did not write.
[[nodiscard]] std::optional<message> message_of(std::string_view text);

}  // namespace holdfast::backends
