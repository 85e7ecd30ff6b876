#include "zookeeper/wire.hpp"

#include <utility>

namespace holdfast::zookeeper {

namespace {

class writer {
  public:
    writer& i32(std::int32_t n) { return number(static_cast<std::uint32_t>(n)); }
    writer& i64(std::int64_t n) { return number(static_cast<std::uint64_t>(n)); }
    writer& boolean(bool b) {
        bytes_ += b ? '\1' : '\0';
        return *this;
    }
    writer& text(std::string_view t) {
        i32(static_cast<std::int32_t>(t.size()));
        bytes_ += t;
        return *this;
    }
    writer& raw(std::string_view t) {
        bytes_ += t;
        return *this;
    }
    [[nodiscard]] std::string take() { return std::move(bytes_); }

  private:
    template <class Unsigned>
    writer& number(Unsigned n) {
        for (int shift = 8 * (static_cast<int>(sizeof n) - 1); shift >= 0; shift -= 8)
            bytes_ += static_cast<char>((n >> static_cast<unsigned>(shift)) & 0xffU);
        return *this;
    }

    std::string bytes_;
};

// After a read past the end all values are zero, and `ok` is false.
class reader {
  public:
    explicit reader(std::string_view bytes) : left_(bytes) {}

    std::int32_t i32() { return static_cast<std::int32_t>(number<std::uint32_t>()); }
    std::int64_t i64() { return static_cast<std::int64_t>(number<std::uint64_t>()); }
    bool boolean() { return bytes(1) != std::string_view{"\0", 1}; }
    // A length of -1 is a null, which counts as empty.
    std::string_view text() {
        const auto size = i32();
        if (size == -1) return {};
        if (size < 0) return fail();
        return bytes(static_cast<std::size_t>(size));
    }
    stat about() {
        stat s;
        s.czxid = i64();
        s.mzxid = i64();
        s.ctime = i64();
        s.mtime = i64();
        s.version = i32();
        s.cversion = i32();
        s.aversion = i32();
        s.ephemeral_owner = i64();
        s.data_length = i32();
        s.num_children = i32();
        s.pzxid = i64();
        return s;
    }
    [[nodiscard]] bool ok() const noexcept { return ok_; }
    [[nodiscard]] std::size_t left() const noexcept { return left_.size(); }
    [[nodiscard]] std::string_view rest() const noexcept { return left_; }

    template <class T>
    [[nodiscard]] std::optional<T> if_ok(T value) const {
        return ok_ ? std::optional{std::move(value)} : std::nullopt;
    }

  private:
    template <class Unsigned>
    Unsigned number() {
        Unsigned n = 0;
        for (const char c : bytes(sizeof n)) n = (n << 8U) | static_cast<unsigned char>(c);
        return n;
    }
    std::string_view bytes(std::size_t n) {
        if (n > left_.size()) return fail();
        const auto found = left_.substr(0, n);
        left_.remove_prefix(n);
        return found;
    }
    std::string_view fail() {
        ok_ = false;
        left_ = {};
        return {};
    }

    std::string_view left_;
    bool ok_ = true;
};

constexpr std::int32_t all_rights = 31;

std::string in_frame(const std::string& content) { return writer{}.text(content).take(); }

std::string path_and(std::string_view path, watch w) {
    return writer{}.text(path).boolean(w == watch::yes).take();
}

}  // namespace

std::string to_text(code c) {
    switch (c) {
        case code::ok: return "ok";
        case code::runtime_inconsistency: return "a former operation of the same request failed";
        case code::connection_loss: return "connection lost";
        case code::marshalling: return "the request cannot be decoded";
        case code::unimplemented: return "not implemented by this server";
        case code::operation_timeout: return "timed out";
        case code::bad_arguments: return "invalid argument";
        case code::no_node: return "no such node";
        case code::no_auth: return "not authorized";
        case code::bad_version: return "the node has another version";
        case code::no_children_for_ephemerals: return "ephemeral nodes have no children";
        case code::node_exists: return "the node exists";
        case code::not_empty: return "the node has children";
        case code::session_expired: return "the session has expired";
        case code::invalid_acl: return "invalid access control list";
        case code::auth_failed: return "authentication failed";
        case code::session_moved: return "the session moved to another server";
        case code::not_read_only: return "the server is read-only";
        case code::quota_exceeded: return "the quota is exceeded";
        case code::throttled: return "the server is overloaded";
    }
    return "error " + std::to_string(static_cast<std::int32_t>(c));
}

// --- requests -----------------------------------------------------------------------------------------

request create(std::string_view path, std::string_view data, lifetime how_long, access whom) {
    writer w;
    w.text(path).text(data);
    w.i32(1).i32(all_rights);
    if (whom == access::anyone)
        w.text("world").text("anyone");
    else
        w.text("auth").text("");
    w.i32(static_cast<std::int32_t>(how_long));
    return {how_long == lifetime::container ? op::create_container : op::create, w.take()};
}

request remove(std::string_view path, std::int32_t version) {
    return {op::remove, writer{}.text(path).i32(version).take()};
}

request exists(std::string_view path, watch w) { return {op::exists, path_and(path, w)}; }
request get_data(std::string_view path, watch w) { return {op::get_data, path_and(path, w)}; }
request get_children(std::string_view path, watch w) { return {op::get_children, path_and(path, w)}; }

request set_data(std::string_view path, std::string_view data, std::int32_t version) {
    return {op::set_data, writer{}.text(path).text(data).i32(version).take()};
}

request sync(std::string_view path) { return {op::sync, writer{}.text(path).take()}; }

request check(std::string_view path, std::int32_t version) {
    return {op::check, writer{}.text(path).i32(version).take()};
}

request transaction(std::span<const request> steps) {
    writer w;
    for (const auto& step : steps)
        w.i32(static_cast<std::int32_t>(step.what)).boolean(false).i32(-1).raw(step.body);
    w.i32(-1).boolean(true).i32(-1);
    return {op::multi, w.take()};
}

request check_all(std::span<const std::string> paths) {
    std::vector<request> steps;
    steps.reserve(paths.size());
    for (const auto& path : paths) steps.push_back(check(path));
    return transaction(steps);
}

// --- frames -------------------------------------------------------------------------------------------

std::string frame(std::int32_t xid, const request& r) {
    return in_frame(writer{}.i32(xid).i32(static_cast<std::int32_t>(r.what)).raw(r.body).take());
}

std::string frame_of_ping() { return frame(xid_of_ping, {op::ping, {}}); }

std::string frame_of_auth(std::string_view scheme, std::string_view credentials) {
    return frame(xid_of_auth, {op::auth, writer{}.i32(0).text(scheme).text(credentials).take()});
}

std::string frame_of_login(const login& l) {
    constexpr std::size_t password_size = 16;
    auto password = l.password;
    password.resize(password_size);
    return in_frame(writer{}
                        .i32(0)
                        .i64(l.last_zxid)
                        .i32(l.timeout_ms)
                        .i64(l.session)
                        .text(password)
                        .boolean(false)  // no read-only server will do
                        .take());
}

void frame_reader::feed(std::string_view bytes) {
    if (broken_) return;
    if (read_ == buffer_.size()) clear();
    buffer_ += bytes;
}

std::optional<std::string_view> frame_reader::next() {
    constexpr std::size_t header = 4;
    const auto left = std::string_view{buffer_}.substr(read_);
    if (broken_ || left.size() < header) return std::nullopt;
    const auto size = reader{left}.i32();
    if (size < 0 || static_cast<std::size_t>(size) > longest) {
        broken_ = true;
        return std::nullopt;
    }
    const auto whole = header + static_cast<std::size_t>(size);
    if (left.size() < whole) {
        buffer_.erase(0, read_);
        read_ = 0;
        return std::nullopt;
    }
    read_ += whole;
    return left.substr(header, static_cast<std::size_t>(size));
}

void frame_reader::clear() {
    buffer_.clear();
    read_ = 0;
    broken_ = false;
}

// --- replies ------------------------------------------------------------------------------------------

std::optional<reply> parse_reply(std::string_view content) {
    reader r{content};
    reply found;
    found.xid = r.i32();
    found.zxid = r.i64();
    found.err = static_cast<code>(r.i32());
    found.body = r.rest();
    return r.if_ok(found);
}

std::optional<logged_in> parse_login(std::string_view content) {
    reader r{content};
    (void)r.i32();  // the version of the protocol
    logged_in found;
    found.timeout_ms = r.i32();
    found.session = r.i64();
    found.password = r.text();
    return r.if_ok(std::move(found));
}

std::optional<created> parse_created(std::string_view body) {
    reader r{body};
    created found;
    found.path = r.text();
    found.about = r.about();
    return r.if_ok(std::move(found));
}

std::optional<stat> parse_stat(std::string_view body) {
    reader r{body};
    const auto found = r.about();
    return r.if_ok(found);
}

std::optional<node_data> parse_data(std::string_view body) {
    reader r{body};
    node_data found;
    found.data = r.text();
    found.about = r.about();
    return r.if_ok(std::move(found));
}

std::optional<children> parse_children(std::string_view body) {
    reader r{body};
    children found;
    const auto count = r.i32();
    for (std::int32_t i = 0; i < count && r.ok(); ++i) found.names.emplace_back(r.text());
    found.about = r.about();
    return r.if_ok(std::move(found));
}

std::optional<event> parse_event(std::string_view body) {
    reader r{body};
    event found;
    found.type = static_cast<event::what>(r.i32());
    found.state = r.i32();
    found.path = r.text();
    return r.if_ok(std::move(found));
}

std::optional<std::vector<step_result>> parse_transaction(std::string_view body) {
    constexpr std::int32_t failed = -1;
    reader r{body};
    std::vector<step_result> found;
    while (r.ok()) {
        const auto type = r.i32();
        const bool done = r.boolean();
        step_result one{static_cast<code>(r.i32()), {}};
        if (done) return r.if_ok(std::move(found));
        if (type == failed) {
            one.err = static_cast<code>(r.i32());
        } else {
            switch (static_cast<op>(type)) {
                case op::check:
                case op::remove: break;
                case op::set_data: (void)r.about(); break;
                case op::create:
                    one.path = r.text();
                    (void)r.about();
                    break;
                // In a transaction, servers answer a creation so, without the stat that was asked for.
                case op::create_without_stat: one.path = r.text(); break;
                default: return std::nullopt;
            }
        }
        found.push_back(std::move(one));
    }
    return std::nullopt;
}

std::optional<std::vector<code>> parse_checks(std::string_view body) {
    const auto steps = parse_transaction(body);
    if (!steps) return std::nullopt;
    std::vector<code> found;
    found.reserve(steps->size());
    for (const auto& one : *steps) found.push_back(one.err);
    return found;
}

}  // namespace holdfast::zookeeper
