// The bytes of ZooKeeper's protocol: records as its serializer ("jute") writes them, in frames with a length.
// Pure: no socket and no clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::zookeeper {

enum class op : std::int32_t {
    create_without_stat = 1,  // in answers only
    remove = 2,
    exists = 3,
    get_data = 4,
    set_data = 5,
    sync = 9,
    ping = 11,
    get_children = 12,  // with the node's stat
    check = 13,
    multi = 14,
    create = 15,  // with the stat of the new node
    create_container = 19,
    auth = 100,
    close = -11,
};

// Commits a transaction, so a quorum of the servers takes part in it.
[[nodiscard]] constexpr bool is_write(op o) noexcept {
    return o == op::remove || o == op::set_data || o == op::multi || o == op::create ||
           o == op::create_container;
}

// Codes of the server; others are passed on as they come.
enum class code : std::int32_t {
    ok = 0,
    runtime_inconsistency = -2,  // in a multi: a former operation failed
    connection_loss = -4,
    marshalling = -5,
    unimplemented = -6,
    operation_timeout = -7,
    bad_arguments = -8,
    no_node = -101,
    no_auth = -102,
    bad_version = -103,
    no_children_for_ephemerals = -108,
    node_exists = -110,
    not_empty = -111,
    session_expired = -112,
    invalid_acl = -114,
    auth_failed = -115,
    session_moved = -118,
    not_read_only = -119,
    quota_exceeded = -125,
    throttled = -127,
};
// For people: "no such node".
[[nodiscard]] std::string to_text(code c);

struct stat {
    std::int64_t czxid = 0;  // the transaction that created it
    std::int64_t mzxid = 0;
    std::int64_t ctime = 0;  // milliseconds since 1970, by the leader's clock
    std::int64_t mtime = 0;
    std::int32_t version = 0;
    std::int32_t cversion = 0;
    std::int32_t aversion = 0;
    std::int64_t ephemeral_owner = 0;  // a session; 0: the node is not ephemeral
    std::int32_t data_length = 0;
    std::int32_t num_children = 0;
    std::int64_t pzxid = 0;

    friend bool operator==(const stat&, const stat&) = default;
};

// --- requests -----------------------------------------------------------------------------------------

struct request {
    op what;
    std::string body;
};

enum class lifetime : std::int32_t {
    persistent = 0,
    ephemeral = 1,
    ephemeral_sequential = 3,
    container = 4,  // the servers delete it once it had children and has none left
};
// Whom the access control list of a new node admits.
enum class access {
    anyone,
    creator,  // all rights for the users that this connection has authenticated
};
enum class watch : bool { no, yes };

inline constexpr std::int32_t any_version = -1;

[[nodiscard]] request create(std::string_view path, std::string_view data, lifetime, access);
[[nodiscard]] request remove(std::string_view path, std::int32_t version = any_version);
[[nodiscard]] request exists(std::string_view path, watch);
[[nodiscard]] request get_data(std::string_view path, watch);
[[nodiscard]] request set_data(std::string_view path, std::string_view data, std::int32_t version);
[[nodiscard]] request get_children(std::string_view path, watch);
[[nodiscard]] request sync(std::string_view path);
// One write: all of these creations, changes, deletions and checks in their order, or none of them.
[[nodiscard]] request transaction(std::span<const request> steps);
// A step of a transaction that changes nothing: the node exists, and has this version.
[[nodiscard]] request check(std::string_view path, std::int32_t version = any_version);
// A write that changes nothing: succeeds if all these nodes exist.
[[nodiscard]] request check_all(std::span<const std::string> paths);

// --- frames -------------------------------------------------------------------------------------------

inline constexpr std::int32_t xid_of_event = -1;
inline constexpr std::int32_t xid_of_ping = -2;
inline constexpr std::int32_t xid_of_auth = -4;

[[nodiscard]] std::string frame(std::int32_t xid, const request&);
[[nodiscard]] std::string frame_of_ping();
[[nodiscard]] std::string frame_of_auth(std::string_view scheme, std::string_view credentials);

struct login {
    std::int64_t last_zxid = 0;
    std::int32_t timeout_ms = 0;
    std::int64_t session = 0;
    std::string password;  // 16 bytes; of no session: any
};
[[nodiscard]] std::string frame_of_login(const login&);
struct logged_in {
    std::int32_t timeout_ms = 0;
    std::int64_t session = 0;  // 0: the session has expired
    std::string password;
};

// Cuts the stream of a server into frames. Memory grows with what has arrived, not with the length that the
// server announces.
class frame_reader {
  public:
    static constexpr std::size_t longest = 16UL << 20U;

    void feed(std::string_view bytes);
    // The content of the next frame, valid until the next call of any function; empty: it has not arrived.
    [[nodiscard]] std::optional<std::string_view> next();
    // No frame can have the announced length: give up the connection.
    [[nodiscard]] bool broken() const noexcept { return broken_; }
    void clear();

  private:
    std::string buffer_;
    std::size_t read_ = 0;
    bool broken_ = false;
};

// --- replies; empty where the bytes are not such a record ------------------------------------------------

struct reply {
    std::int32_t xid = 0;
    std::int64_t zxid = 0;
    code err = code::ok;
    std::string_view body;  // of the frame
};
[[nodiscard]] std::optional<reply> parse_reply(std::string_view content);
[[nodiscard]] std::optional<logged_in> parse_login(std::string_view content);

struct created {
    std::string path;
    stat about;
};
struct node_data {
    std::string data;
    stat about;
};
struct children {
    std::vector<std::string> names;
    stat about;  // of the parent
};
struct event {
    enum class what : std::int32_t {
        none = -1,
        created = 1,
        deleted = 2,
        data_changed = 3,
        children_changed = 4,
    };
    what type = what::none;
    std::int32_t state = 0;
    std::string path;
};
[[nodiscard]] std::optional<created> parse_created(std::string_view body);
[[nodiscard]] std::optional<stat> parse_stat(std::string_view body);
[[nodiscard]] std::optional<node_data> parse_data(std::string_view body);
[[nodiscard]] std::optional<children> parse_children(std::string_view body);
[[nodiscard]] std::optional<event> parse_event(std::string_view body);
struct step_result {
    code err = code::ok;  // if a step failed: ok before it, and runtime_inconsistency behind it
    std::string path;     // of a node that was created
};
// The results of a transaction, in the order of its steps.
[[nodiscard]] std::optional<std::vector<step_result>> parse_transaction(std::string_view body);
// The results of check_all, in order.
[[nodiscard]] std::optional<std::vector<code>> parse_checks(std::string_view body);

}  // namespace holdfast::zookeeper
