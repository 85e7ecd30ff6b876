#include "server/fake_zookeeper.hpp"

#include "support/loopback.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>
#include <utility>

namespace holdfast::test {

namespace {

using zookeeper::code;
using zookeeper::op;

std::string number(std::int64_t n, int bytes) {
    std::string out;
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
        out += static_cast<char>((static_cast<std::uint64_t>(n) >> static_cast<unsigned>(shift)) & 0xffU);
    return out;
}
std::string i32(std::int64_t n) { return number(n, 4); }
std::string i64(std::int64_t n) { return number(n, 8); }
std::string text(const std::string& t) { return i32(static_cast<std::int64_t>(t.size())) + t; }

std::int64_t take(std::string_view& from, std::size_t bytes) {
    std::uint64_t n = 0;
    for (const char c : from.substr(0, bytes)) n = (n << 8U) | static_cast<unsigned char>(c);
    from.remove_prefix(std::min(bytes, from.size()));
    return bytes == 4 ? static_cast<std::int32_t>(n) : static_cast<std::int64_t>(n);
}
std::string take_text(std::string_view& from) {
    const auto size = static_cast<std::size_t>(take(from, 4));
    std::string t{from.substr(0, size)};
    from.remove_prefix(std::min(size, from.size()));
    return t;
}

std::string parent_of(const std::string& path) {
    const auto at = path.rfind('/');
    return at == 0 ? "/" : path.substr(0, at);
}

}  // namespace

fake_zookeeper::fake_zookeeper()
    : listener_(bound_socket(0)), port_(port_of(listener_)), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (::listen(listener_.get(), 16) != 0) throw std::runtime_error{"cannot listen"};
    nodes_["/"];
    thread_ = std::thread{[this] { run(); }};
}

fake_zookeeper::~fake_zookeeper() {
    {
        const std::lock_guard hold{mutex_};
        stopping_ = true;
    }
    ::eventfd_write(wake_.get(), 1);
    thread_.join();
}

// --- for tests --------------------------------------------------------------------------------------------

void fake_zookeeper::set_rule(rule r) {
    const std::lock_guard hold{mutex_};
    rule_ = std::move(r);
}
void fake_zookeeper::grant(std::int32_t timeout_ms) {
    const std::lock_guard hold{mutex_};
    granted_ = timeout_ms;
}
void fake_zookeeper::refuse_logins(bool refuse) {
    const std::lock_guard hold{mutex_};
    refuses_ = refuse;
}
void fake_zookeeper::hang_up(bool after_logins) {
    const std::lock_guard hold{mutex_};
    hangs_up_ = after_logins;
}
std::size_t fake_zookeeper::logins() const {
    const std::lock_guard hold{mutex_};
    return logins_;
}
std::size_t fake_zookeeper::seen(op what) const {
    const std::lock_guard hold{mutex_};
    const auto it = seen_.find(what);
    return it == seen_.end() ? 0 : it->second;
}
void fake_zookeeper::end_sessions() {
    const std::lock_guard hold{mutex_};
    while (!sessions_.empty()) end(*sessions_.begin());
    for (auto& c : connections_) ::shutdown(c.fd.get(), SHUT_RDWR);
}
void fake_zookeeper::cut_all() {
    const std::lock_guard hold{mutex_};
    for (auto& c : connections_) ::shutdown(c.fd.get(), SHUT_RDWR);
}
void fake_zookeeper::create(const std::string& path, const std::string& data) {
    const std::lock_guard hold{mutex_};
    put(path, data, 1);
    // As if the server had given the number.
    const auto digits = path.find_last_not_of("0123456789") + 1;
    auto& numbers = nodes_[parent_of(path)].numbers;
    if (digits < path.size()) numbers = std::max(numbers, std::stoi(path.substr(digits)) + 1);
}
void fake_zookeeper::remove(const std::string& path) {
    const std::lock_guard hold{mutex_};
    erase(path);
}
bool fake_zookeeper::has(const std::string& path) const {
    const std::lock_guard hold{mutex_};
    return nodes_.contains(path);
}
std::vector<std::string> fake_zookeeper::children(const std::string& path) const {
    const std::lock_guard hold{mutex_};
    return names_in(path);
}
std::string fake_zookeeper::data(const std::string& path) const {
    const std::lock_guard hold{mutex_};
    const auto it = nodes_.find(path);
    return it == nodes_.end() ? std::string{} : it->second.data;
}

// --- the tree ---------------------------------------------------------------------------------------------

void fake_zookeeper::put(const std::string& path, std::string data, std::int64_t session) {
    nodes_[path] = {std::move(data), ++zxid_, session};
}
void fake_zookeeper::erase(const std::string& path) {
    if (nodes_.erase(path) == 0) return;
    ++zxid_;
    notify(path, zookeeper::event::what::deleted);
}
void fake_zookeeper::end(std::int64_t session) {
    sessions_.erase(session);
    std::vector<std::string> gone;
    for (const auto& [path, n] : nodes_)
        if (n.session == session) gone.push_back(path);
    for (const auto& path : gone) erase(path);
}
void fake_zookeeper::notify(const std::string& path, zookeeper::event::what type) {
    const auto [first, last] = watches_.equal_range(path);
    for (auto it = first; it != last; ++it)
        send(*it->second, i32(zookeeper::xid_of_event) + i64(-1) + i32(0) +
                              i32(static_cast<std::int64_t>(type)) + i32(3) + text(path));
    watches_.erase(path);
}
std::vector<std::string> fake_zookeeper::names_in(const std::string& directory) const {
    std::vector<std::string> names;
    const auto prefix = directory == "/" ? directory : directory + '/';
    for (auto it = nodes_.lower_bound(prefix); it != nodes_.end() && it->first.starts_with(prefix); ++it) {
        const auto name = it->first.substr(prefix.size());
        if (!name.empty() && name.find('/') == std::string::npos) names.push_back(name);
    }
    return names;
}
std::string fake_zookeeper::stat_of(const std::string& path) const {
    const auto& n = nodes_.at(path);
    const auto count = static_cast<std::int64_t>(names_in(path).size());
    return i64(n.czxid) + i64(n.czxid) + i64(0) + i64(0) + i32(n.version) + i32(2 * n.numbers - count) +
           i32(0) + i64(n.session) + i32(static_cast<std::int64_t>(n.data.size())) + i32(count) +
           i64(n.czxid);
}

// --- connections ------------------------------------------------------------------------------------------

void fake_zookeeper::run() {
    for (;;) {
        std::vector<pollfd> fds{{listener_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
        std::vector<connection*> polled;
        {
            const std::lock_guard hold{mutex_};
            if (stopping_) return;
            std::erase_if(watches_, [](const auto& w) { return !w.second->open; });
            connections_.remove_if([](const connection& c) { return !c.open; });
            for (auto& c : connections_) {
                fds.push_back({c.fd.get(), POLLIN, 0});
                polled.push_back(&c);
            }
        }
        ::poll(fds.data(), fds.size(), -1);
        for (std::size_t i = 0; i < polled.size(); ++i)
            if (fds[2 + i].revents != 0) read(*polled[i]);
        if (fds[0].revents == 0) continue;
        connection c;
        c.fd.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        const std::lock_guard hold{mutex_};
        if (c.fd) connections_.push_back(std::move(c));
    }
}

void fake_zookeeper::read(connection& c) {
    std::array<char, 65536> bytes;
    const auto n = ::recv(c.fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (n <= 0) {
        c.open = false;
        return;
    }
    c.in.feed({bytes.data(), static_cast<std::size_t>(n)});
    while (c.open) {
        const auto frame = c.in.next();
        if (!frame) return;
        if (c.session == 0)
            log_in(c, *frame);
        else
            serve(c, *frame);
    }
}

void fake_zookeeper::log_in(connection& c, std::string_view frame) {
    const std::lock_guard hold{mutex_};
    ++logins_;
    if (refuses_) {
        c.open = false;
        c.fd.reset();
        return;
    }
    (void)take(frame, 12);
    const auto wanted = take(frame, 4);
    auto session = take(frame, 8);
    const bool is_over = session != 0 && !sessions_.contains(session);
    if (session == 0) sessions_.insert(session = ++zxid_ << 16);
    c.session = is_over ? 0 : session;
    send(c, i32(0) + i32(is_over ? 0 : granted_.value_or(static_cast<std::int32_t>(wanted))) +
                i64(c.session) + text(std::string(16, 'p')) + std::string(1, '\0'));
    if (is_over || hangs_up_) c.open = false;
    if (hangs_up_) c.fd.reset();
}

void fake_zookeeper::serve(connection& c, std::string_view frame) {
    const auto xid = take(frame, 4);
    asked q{static_cast<op>(take(frame, 4)), {}, {}, frame.size()};
    auto rest = frame;
    if (q.what == op::multi) (void)take(rest, 9);
    if (q.what != op::close && q.what != op::ping) q.path = take_text(rest);
    if (q.what == op::create || q.what == op::create_container || q.what == op::set_data)
        q.data = take_text(rest);
    rule r;
    {
        const std::lock_guard hold{mutex_};
        ++seen_[q.what];
        r = rule_;
    }
    const auto how = r ? r(q) : reaction{};
    const std::lock_guard hold{mutex_};
    if (how.how == reaction::fate::silence) return;
    std::string answer;
    if (how.how == reaction::fate::lost) {
        c.open = false;
        c.fd.reset();
        return;
    }
    const auto err = how.refusal ? *how.refusal : carry_out(c, q, frame, how, answer);
    if (how.how == reaction::fate::answer_lost) {
        c.open = false;
        c.fd.reset();
        return;
    }
    send(c, i32(xid) + i64(zxid_) + i32(static_cast<std::int64_t>(err)) +
                (err == code::ok || q.what == op::multi ? answer : std::string{}));
    if (q.what == op::close) c.open = false;
}

code fake_zookeeper::carry_out(connection& c, const asked& q, std::string_view body, const reaction& how,
                               std::string& answer) {
    const bool there = nodes_.contains(q.path);
    switch (q.what) {
        case op::create:
        case op::create_container: {
            if (!nodes_.contains(parent_of(q.path))) return code::no_node;
            const auto kind = static_cast<zookeeper::lifetime>(take(body = body.substr(body.size() - 4), 4));
            const bool numbered = kind == zookeeper::lifetime::ephemeral_sequential;
            if (there && !numbered) return code::node_exists;
            auto path = q.path;
            auto& n = nodes_[parent_of(q.path)].numbers;
            if (numbered) {
                std::array<char, 16> digits{};
                std::snprintf(digits.data(), digits.size(), "%010d", n);
                path += digits.data();
            }
            ++n;
            const bool stays =
                kind == zookeeper::lifetime::container || kind == zookeeper::lifetime::persistent;
            put(path, q.data, stays ? 0 : c.session);
            answer = text(path) + stat_of(path);
            return code::ok;
        }
        case op::remove:
            if (!there) return code::no_node;
            erase(q.path);
            return code::ok;
        case op::exists:
            if (!there) return code::no_node;
            answer = stat_of(q.path);
            return code::ok;
        case op::get_data:
            if (!there) return code::no_node;
            if (body.back() != '\0') watches_.emplace(q.path, &c);
            answer = text(nodes_[q.path].data) + stat_of(q.path);
            return code::ok;
        case op::set_data:
            if (!there) return code::no_node;
            nodes_[q.path].data = q.data;
            ++nodes_[q.path].version;
            answer = stat_of(q.path);
            notify(q.path, zookeeper::event::what::data_changed);
            return code::ok;
        case op::get_children: {
            if (!there) return code::no_node;
            const auto names = how.listing.value_or(names_in(q.path));
            answer = i32(static_cast<std::int64_t>(names.size()));
            for (const auto& name : names) answer += text(name);
            answer += stat_of(q.path);
            return code::ok;
        }
        case op::sync: answer = text(q.path); return code::ok;
        case op::multi: {
            ++zxid_;
            std::vector<code> results;
            while (body.size() > 9) {
                (void)take(body, 9);
                const auto path = take_text(body);
                (void)take(body, 4);
                results.push_back(nodes_.contains(path) ? code::ok : code::no_node);
            }
            const auto bad = std::find(results.begin(), results.end(), code::no_node);
            if (bad != results.end()) {
                std::fill(results.begin(), bad, code::ok);
                std::fill(bad + 1, results.end(), code::runtime_inconsistency);
            }
            for (const auto r : results) {
                const auto err = static_cast<std::int64_t>(r);
                // After a failure, all are reported as errors.
                answer += bad == results.end() ? i32(13) + std::string(1, '\0') + i32(0)
                                               : i32(-1) + std::string(1, '\0') + i32(err) + i32(err);
            }
            answer += i32(-1) + std::string(1, '\1') + i32(-1);
            return bad == results.end() ? code::ok : *bad;
        }
        case op::ping: return code::ok;
        case op::close: end(c.session); return code::ok;
        default: return code::unimplemented;
    }
}

void fake_zookeeper::send(connection& c, const std::string& content) {
    const auto all = text(content);
    (void)::send(c.fd.get(), all.data(), all.size(), MSG_NOSIGNAL);
}

}  // namespace holdfast::test
