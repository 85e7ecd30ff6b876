#include "support/fault_proxy.hpp"

#include "support/loopback.hpp"
#include "support/redis_server.hpp"
#include "support/resp.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace holdfast::test {

namespace {

bool same_word(std::string_view a, std::string_view b) {
    return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool is_any_of(std::string_view word, std::initializer_list<std::string_view> all) {
    return std::any_of(all.begin(), all.end(), [&](std::string_view one) { return same_word(word, one); });
}

// (P|S)SUBSCRIBE and their opposites are answered once per channel, everything else once.
std::size_t replies_to(const std::vector<std::string>& words) {
    const bool per_channel = is_any_of(words.front(), {"subscribe", "psubscribe", "ssubscribe", "unsubscribe",
                                                       "punsubscribe", "sunsubscribe"});
    return per_channel ? std::max<std::size_t>(words.size() - 1, 1) : 1;
}

// For data on a subscriber's connection: it is a message, not the reply to a command.
bool is_published(std::string_view message) {
    // To parse every reply would cost more than all the rest of the proxy.
    static constexpr std::size_t longest_head = 32;
    const auto head = message.substr(0, longest_head);
    return head.starts_with('*') &&
           (head.find("\r\nmessage\r\n") != head.npos || head.find("\r\npmessage\r\n") != head.npos ||
            head.find("\r\nsmessage\r\n") != head.npos);
}

enum class end_of { nothing, stream };

// Appends what can be read now.
end_of read_available(const unique_fd& fd, std::string& to) {
    std::array<char, 16384> chunk;
    for (;;) {
        const auto n = ::read(fd.get(), chunk.data(), chunk.size());
        if (n > 0) {
            to.append(chunk.data(), static_cast<std::size_t>(n));
        } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            return end_of::stream;
        } else if (errno == EAGAIN) {
            return end_of::nothing;
        }
    }
}

// Sends what can be sent now and removes it.
end_of write_available(const unique_fd& fd, std::string& from) {
    while (!from.empty()) {
        const auto n = ::send(fd.get(), from.data(), from.size(), MSG_NOSIGNAL);
        if (n >= 0) {
            from.erase(0, static_cast<std::size_t>(n));
        } else if (errno == EAGAIN) {
            break;
        } else if (errno != EINTR) {
            return end_of::stream;
        }
    }
    return end_of::nothing;
}

void make_nonblocking(const unique_fd& fd) {
    ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

unique_fd listen_on(std::uint16_t port) {
    unique_fd fd = bound_socket(port);
    make_nonblocking(fd);
    if (::listen(fd.get(), 128) != 0) throw std::system_error{errno, std::generic_category(), "listen"};
    return fd;
}

}  // namespace

command_predicate named(std::string name) {
    return [name = std::move(name)](const std::vector<std::string>& words) {
        return same_word(words.front(), name);
    };
}

fault_proxy::fault_proxy(const redis_server& server, memory keeps)
    : server_port_(server.port()),
      password_(server.password()),
      keeps_(keeps),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!wake_) throw std::system_error{errno, std::generic_category(), "eventfd"};
    listener_ = listen_on(port());
    thread_ = std::thread{[this] { run(); }};
}

fault_proxy::~fault_proxy() {
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
        changed();
    }
    thread_.join();
}

std::string fault_proxy::url() const {
    const std::string user = password_.empty() ? "" : ":" + password_ + "@";
    return "redis://" + user + "127.0.0.1:" + std::to_string(port());
}

// --- functions for tests ----------------------------------------------------------------------------

void fault_proxy::add_rule(command_predicate which, int nth, fate then) {
    const std::lock_guard lock{mutex_};
    rules_.push_back({std::move(which), nth, then});
}

void fault_proxy::drop_reply_of(command_predicate which, int nth) {
    add_rule(std::move(which), nth, fate::lose_reply);
}

void fault_proxy::drop_command(command_predicate which, int nth) {
    add_rule(std::move(which), nth, fate::lose_command);
}

void fault_proxy::hold_reply_of(command_predicate which, int nth) {
    add_rule(std::move(which), nth, fate::hold_reply);
}

void fault_proxy::release_replies() {
    const std::lock_guard lock{mutex_};
    for (auto& c : connections_) {
        if (!c.held) continue;
        c.held = false;
        c.replies_due.front() = fate::pass;
        --counts_.replies_held;
        pass_replies(c);
    }
    changed();
}

void fault_proxy::clear_rules() {
    const std::lock_guard lock{mutex_};
    rules_.clear();
}

void fault_proxy::stall() {
    const std::lock_guard lock{mutex_};
    stalled_ = true;
    changed();
}

void fault_proxy::resume() {
    const std::lock_guard lock{mutex_};
    stalled_ = false;
    changed();
}

void fault_proxy::cut_all() {
    const std::lock_guard lock{mutex_};
    for (auto& c : connections_) {
        if (c.held) --counts_.replies_held;
    }
    connections_.clear();
    changed();
}

void fault_proxy::refuse_new(bool refuse) {
    const std::lock_guard lock{mutex_};
    if (refuse == refusing_) return;
    refusing_ = refuse;
    if (refuse) {
        // A closed listener would go on listening while the thread's poll refers to it.
        ::shutdown(listener_.get(), SHUT_RDWR);
        listener_.reset();
    } else {
        listener_ = listen_on(port());
    }
    changed();
}

void fault_proxy::swallow_messages(bool swallow) {
    const std::lock_guard lock{mutex_};
    swallowing_ = swallow;
}

void fault_proxy::delay(std::chrono::milliseconds by) {
    const std::lock_guard lock{mutex_};
    delay_ = by;
}

void fault_proxy::hold_commands_after(std::chrono::milliseconds lag) {
    const std::lock_guard lock{mutex_};
    hold_commands_at_ = clock::now() + 3 * lag;
    bool chosen = false;
    for (auto& c : connections_) {
        if (!c.subscriber && (chosen = !chosen)) c.lag = lag;
    }
    changed();
}

void fault_proxy::pass_held_commands() {
    const std::lock_guard lock{mutex_};
    hold_commands_at_ = clock::time_point::max();
    for (auto& c : connections_) {
        c.lag = std::chrono::milliseconds{0};
        c.commands_held = false;
    }
    changed();
}

fault_proxy::counts fault_proxy::count() const {
    const std::lock_guard lock{mutex_};
    counts now = counts_;
    now.open = connections_.size();
    now.commands_held =
        std::ranges::count_if(connections_, [](const connection& c) { return c.commands_held; });
    return now;
}

std::size_t fault_proxy::count_of(const command_predicate& which) const {
    const std::lock_guard lock{mutex_};
    return static_cast<std::size_t>(std::count_if(commands_.begin(), commands_.end(), which));
}

std::vector<std::vector<std::string>> fault_proxy::commands() const {
    const std::lock_guard lock{mutex_};
    return commands_;
}

// --- the thread -------------------------------------------------------------------------------------

void fault_proxy::changed() {
    changed_ = true;
    ::eventfd_write(wake_.get(), 1);
}

void fault_proxy::run() {
    std::unique_lock lock{mutex_};
    std::vector<pollfd> fds;
    while (!stopping_) {
        fds.assign(1, {wake_.get(), POLLIN, 0});
        fds.push_back({stalled_ || refusing_ ? -1 : listener_.get(), POLLIN, 0});
        if (clock::now() >= hold_commands_at_) {
            hold_commands_at_ = clock::time_point::max();
            for (auto& c : connections_) c.commands_held = c.lag > std::chrono::milliseconds{0};
        }
        auto next_due = hold_commands_at_;
        for (const auto& c : connections_) {
            const bool parcel_due = !c.to_client.empty() && c.to_client.front().due <= clock::now();
            if (!c.to_client.empty() && !parcel_due) next_due = std::min(next_due, c.to_client.front().due);
            const auto watch = [&](const unique_fd& side, bool reads, bool writes) {
                const int events = (reads && !c.cut_when_sent ? POLLIN : 0) | (writes ? POLLOUT : 0);
                // A descriptor polled for no event would still report, without end, that its peer has gone.
                fds.push_back({stalled_ || events == 0 ? -1 : side.get(), static_cast<short>(events), 0});
            };
            watch(c.client, !c.commands_held, parcel_due);
            watch(c.server, true, !c.cut_when_sent && !c.to_server.empty());
        }
        int timeout = -1;
        if (!stalled_ && next_due != clock::time_point::max()) {
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_due - clock::now()).count();
            timeout = static_cast<int>(std::max<decltype(left)>(left, 0));
        }
        lock.unlock();
        ::poll(fds.data(), fds.size(), timeout);
        lock.lock();

        if (changed_) {
            // A change since the poll began: the events may be of connections that are gone, or that stall
            // now.
            changed_ = false;
            eventfd_t ignored = 0;
            ::eventfd_read(wake_.get(), &ignored);
            continue;
        }
        auto fd = fds.begin() + 2;
        for (auto& c : connections_) {
            const short client_events = (fd++)->revents;
            const short server_events = (fd++)->revents;
            serve(c, client_events, server_events);
        }
        connections_.remove_if([this](const connection& c) {
            if (c.dead && c.held) --counts_.replies_held;
            return c.dead;
        });
        if (fds[1].revents != 0) accept_one();
    }
}

void fault_proxy::accept_one() {
    connection c;
    c.client.reset(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!c.client) return;
    ++counts_.accepted;
    const int on = 1;
    ::setsockopt(c.client.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    c.server = connect_to(server_port_);
    if (!c.server) return;  // the server is down: the client's connection closes at once
    make_nonblocking(c.server);
    connections_.push_back(std::move(c));
}

void fault_proxy::serve(connection& c, short client_events, short server_events) {
    if (!c.cut_when_sent) {
        try {
            if ((client_events & ~POLLOUT) != 0) read_client(c);
            if (server_events != 0 && !c.dead) read_server(c);
        } catch (const std::runtime_error&) {
            c.dead = true;  // not RESP2: a client that sends it sees its connection close, as from a server
        }
    }
    if (!c.dead) write_server(c);
    if (!c.dead) write_client(c);
    if (c.cut_when_sent && c.to_client.empty()) c.dead = true;
}

void fault_proxy::read_client(connection& c) {
    if (read_available(c.client, c.from_client) == end_of::stream) c.dead = true;
    pass_commands(c);
    if (c.dead)
        write_available(c.server, c.to_server);  // the server executes what a client sends before it closes
}

void fault_proxy::read_server(connection& c) {
    const bool ended = read_available(c.server, c.from_server) == end_of::stream;
    pass_replies(c);
    if (ended) c.cut_when_sent = true;
}

void fault_proxy::pass_commands(connection& c) {
    std::string_view rest = c.from_client;
    while (const auto size = resp_message_length(rest)) {
        const auto words = resp_words(rest.substr(0, *size));
        if (words.empty()) throw std::runtime_error{"a command without words"};
        const fate then = fate_of(words);
        ++counts_.commands;
        if (keeps_ == memory::all_commands) commands_.push_back(words);
        if (then == fate::lose_command) {
            write_available(c.server, c.to_server);  // the commands before it do arrive
            c.dead = true;
            return;
        }
        c.to_server += rest.substr(0, *size);
        c.replies_due.push_back(then);
        c.subscriber = c.subscriber || is_any_of(words.front(), {"subscribe", "psubscribe", "ssubscribe"});
        for (std::size_t more = replies_to(words); more > 1; --more) c.replies_due.push_back(fate::pass);
        rest.remove_prefix(*size);
    }
    c.from_client.erase(0, c.from_client.size() - rest.size());
}

fault_proxy::fate fault_proxy::fate_of(const std::vector<std::string>& words) {
    for (auto it = rules_.begin(); it != rules_.end(); ++it) {
        if (!it->which(words) || --it->nth > 0) continue;
        const fate then = it->then;
        rules_.erase(it);
        ++counts_.rules_fired;
        return then;
    }
    return fate::pass;
}

void fault_proxy::pass_replies(connection& c) {
    std::string_view rest = c.from_server;
    while (!c.held && !c.cut_when_sent) {
        const auto size = resp_message_length(rest);
        if (!size) break;
        const auto message = rest.substr(0, *size);
        bool deliver = true;
        if (c.subscriber && is_published(message)) {
            deliver = !swallowing_;
            ++(deliver ? counts_.messages : counts_.messages_swallowed);
        } else if (!c.replies_due.empty()) {
            const fate then = c.replies_due.front();
            if (then == fate::hold_reply) {
                c.held = true;
                ++counts_.replies_held;
                break;
            }
            c.replies_due.pop_front();
            deliver = then != fate::lose_reply;
            c.cut_when_sent = !deliver;
            if (deliver) ++counts_.replies;
        }
        if (deliver) c.to_client.push_back({clock::now() + delay_ + c.lag, std::string{message}});
        rest.remove_prefix(*size);
    }
    c.from_server.erase(0, c.from_server.size() - rest.size());
}

void fault_proxy::write_server(connection& c) {
    if (write_available(c.server, c.to_server) == end_of::stream) c.cut_when_sent = true;
}

void fault_proxy::write_client(connection& c) {
    while (!c.to_client.empty() && c.to_client.front().due <= clock::now()) {
        if (write_available(c.client, c.to_client.front().bytes) == end_of::stream) c.dead = true;
        if (c.dead || !c.to_client.front().bytes.empty()) return;
        c.to_client.pop_front();
    }
}

}  // namespace holdfast::test
