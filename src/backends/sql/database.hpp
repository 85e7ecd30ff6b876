// What a store needs of an SQL database: statements, and messages between its clients. A driver implements
// it.
#pragma once

#include "store/requests.hpp"
#include "store/store.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::sql_backend {

using backend::failure;
using backend::handler;
using backend::time_point;

// A value of a result: the bytes of a text or a blob, the decimal digits of a number; empty: NULL.
using cell = std::optional<std::string>;
using row = std::vector<cell>;
using rows = std::vector<row>;

// The number in a cell; 0 if it has none.
[[nodiscard]] std::int64_t number(const cell& of) noexcept;

// A statement that every connection prepares once, or, without a name, each time.
struct prepared {
    const char* name = "";
    const char* sql = "";
    bool changes = false;  // its effect is unknown if the answer is lost
};

struct parameter {
    enum class form {
        plain,       // a number, or what the dialect has made: it is as the database reads it
        characters,  // any text, in UTF-8
        bytes,       // any bytes
    };
    std::string value;
    form is = form::plain;

    [[nodiscard]] static parameter bytes(std::string b) { return {std::move(b), form::bytes}; }
    [[nodiscard]] static parameter characters(std::string t) { return {std::move(t), form::characters}; }
    [[nodiscard]] static parameter text(std::string t) { return {std::move(t), form::plain}; }
    [[nodiscard]] static parameter of(std::int64_t n) { return {std::to_string(n), form::plain}; }
};

struct statement {
    const prepared* what = nullptr;
    std::vector<parameter> parameters{};
};

// Why a statement has no result.
struct fault {
    enum class effect {
        none,      // nothing was changed
        conflict,  // nothing was changed, because of another transaction: the same statement may succeed soon
        unknown,   // the transaction may have been committed
    } what;
    failure why;
};
using outcome = std::variant<rows, fault>;

// A message to the client that listens there.
struct letter {
    std::string to;  // a client's id, or a channel
    std::string text;
};

// Statements, each a transaction of its own, whose answer means that it was committed. Thread-safe.
class database {
  public:
    database() = default;
    database(const database&) = delete;
    database& operator=(const database&) = delete;
    virtual ~database() = default;

    // Calls `done` once, never before it returns and without a lock. A statement that was not sent by then is
    // not sent any more. Statements that are run at the same time are carried out in any order. Throws
    // std::bad_alloc: then it is not sent, and `done` is not called.
    virtual void run(statement what, time_point deadline, handler<outcome> done) = 0;

    // Lends the calling thread to the connections; see backend::store::run_io.
    virtual void run_io(base::parker& me, time_point until) = 0;

    [[nodiscard]] virtual backend::traffic statistics() const noexcept = 0;
    // Ends all statements with errc::closed.
    virtual void close() = 0;
    // In a forked child: see backend::store::abandon.
    virtual void abandon() noexcept = 0;
};

// Messages to this client, on a connection of their own. Thread-safe. Functions return at once and call no
// handler before they return; after close() none is called.
class mailbox {
  public:
    enum class state {
        closed,   // nobody has opened it
        opening,  // for the first time, or again after a loss
        open,
        silent,   // messages have no texts here, so waiters poll too; others see that this client is there
        refused,  // there should be messages, and there are none: waiters poll
    };
    struct handlers {
        std::function<void(std::string_view text)> on_message;
        std::function<void(state, const std::string& why)> on_change;  // without a lock
        std::function<void()> on_ring;                                 // a message without a text
    };

    mailbox() = default;
    mailbox(const mailbox&) = delete;
    mailbox& operator=(const mailbox&) = delete;
    virtual ~mailbox() = default;

    virtual state open() = 0;
    // Receives what is sent to this channel, too. Calls `listening` when it does, unless the mailbox is lost
    // before: then on_change() follows, and the channel is listened to again.
    virtual void listen(const std::string& channel, std::function<void()> listening) = 0;
    virtual void stop_listening(const std::string& channel) = 0;
    virtual void close() = 0;
    virtual void abandon() noexcept = 0;
};

}  // namespace holdfast::sql_backend
