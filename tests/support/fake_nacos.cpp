#include "support/fake_nacos.hpp"

#include "support/loopback.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <utility>

namespace holdfast::test {

namespace {

using std::chrono::milliseconds;

// A long poll lasts as long as its client allows, and a little less.
constexpr milliseconds earlier{500};

std::string md5_of(const std::string& text) {
    // Clients compare it and never compute it.
    const auto hash = std::to_string(std::hash<std::string>{}(text));
    return hash + std::string(32 - hash.size(), 'a');
}

std::string decoded(const std::string& text) {
    std::string all;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%' && i + 2 < text.size()) {
            all += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
            i += 2;
        } else {
            all += text[i];
        }
    }
    return all;
}

// Behind `name` in the text, up to one of these.
std::string value_of(const std::string& in, const std::string& name, const std::string& ends) {
    const auto at = in.find(name);
    if (at == std::string::npos) return {};
    const auto begin = at + name.size();
    return in.substr(begin, std::min(in.find_first_of(ends, begin), in.size()) - begin);
}

std::string in_json(const std::string& text) {
    std::string all = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') all += '\\';
        all += c;
    }
    return all + '"';
}

}  // namespace

fake_nacos::fake_nacos(version has)
    : has_(has),
      reserved_(bound_socket(0)),
      port_(port_of(reserved_)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    start();
    thread_ = std::thread{[this] { run(); }};
}

fake_nacos::~fake_nacos() {
    {
        const std::lock_guard hold{mutex_};
        ending_ = true;
    }
    wake();
    thread_.join();
}

std::string fake_nacos::url(const std::string& id, const std::string& password) const {
    return "nacos://nacos:" + password + "@127.0.0.1:" + std::to_string(port_) + "/public/tests/" + id +
           "?long_poll=10s";
}

void fake_nacos::wake() const {
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
}

void fake_nacos::publish(const std::string& id, const std::string& text) {
    {
        const std::lock_guard hold{mutex_};
        texts_[id] = text;
    }
    wake();
}

void fake_nacos::erase(const std::string& id) {
    {
        const std::lock_guard hold{mutex_};
        texts_.erase(id);
    }
    wake();
}

void fake_nacos::stop() {
    const std::lock_guard hold{mutex_};
    listener_ = {};
    connections_.clear();
    wake();
}

void fake_nacos::start() {
    const std::lock_guard hold{mutex_};
    listener_ = bound_socket(port_);
    ::listen(listener_.get(), 64);
    first_valid_ = tokens_ + 1;
    wake();
}

void fake_nacos::pause() {
    const std::lock_guard hold{mutex_};
    paused_ = true;
    wake();
}

void fake_nacos::resume() {
    const std::lock_guard hold{mutex_};
    paused_ = false;
    wake();
}

void fake_nacos::set_rule(rule r) {
    const std::lock_guard hold{mutex_};
    rule_ = std::move(r);
}

std::size_t fake_nacos::count(const std::string& part) const {
    const std::lock_guard hold{mutex_};
    return static_cast<std::size_t>(std::count_if(asked_.begin(), asked_.end(), [&](const asked& a) {
        return a.target.find(part) != std::string::npos;
    }));
}

std::vector<fake_nacos::asked> fake_nacos::all() const {
    const std::lock_guard hold{mutex_};
    return asked_;
}

void fake_nacos::run() {
    std::unique_lock hold{mutex_};
    while (!ending_) {
        std::vector<pollfd> watched{{wake_.get(), POLLIN, 0}};
        if (!paused_) {
            if (listener_) watched.push_back({listener_.get(), POLLIN, 0});
            for (const auto& c : connections_) watched.push_back({c.fd.get(), POLLIN, 0});
        }
        hold.unlock();
        ::poll(watched.data(), watched.size(), 50);
        hold.lock();
        std::uint64_t count = 0;
        (void)!::read(wake_.get(), &count, sizeof count);
        if (paused_) continue;
        if (listener_) {
            pollfd ready{listener_.get(), POLLIN, 0};
            if (::poll(&ready, 1, 0) > 0)
                connections_.push_back(
                    {unique_fd{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)}, {}});
        }
        for (auto& c : connections_) serve(c);
        connections_.remove_if([](const connection& c) { return !c.fd; });
    }
}

void fake_nacos::serve(connection& c) {
    const auto send = [&](const answered& a) {
        const auto text = "HTTP/1.1 " + std::to_string(a.status) + " \r\n" + a.headers +
                          "Content-Length: " + std::to_string(a.body.size()) + "\r\n\r\n" + a.body;
        (void)!::send(c.fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
    };
    for (;;) {
        std::array<char, 65536> bytes;
        const auto n = ::recv(c.fd.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (n < 0) break;
        if (n == 0) return c.fd.reset();
        c.got.append(bytes.data(), static_cast<std::size_t>(n));
    }
    if (c.held) {
        auto now = poll(*c.held);
        if (!now && clock::now() >= c.until) now = answered{};
        if (!now) return;
        c.held.reset();
        send(*now);
    }
    const auto end = c.got.find("\r\n\r\n");
    if (end == std::string::npos) return;
    asked a;
    a.headers = c.got.substr(0, end + 2);
    const auto length = value_of(a.headers, "Content-Length: ", "\r");
    const std::size_t size = length.empty() ? 0 : std::stoul(length);
    if (c.got.size() < end + 4 + size) return;
    a.form = c.got.substr(end + 4, size);
    c.got.erase(0, end + 4 + size);
    a.method = a.headers.substr(0, a.headers.find(' '));
    a.target = value_of(a.headers, a.method + ' ', " ");
    asked_.push_back(a);
    if (rule_) {
        if (const auto instead = rule_(a)) return send(*instead);
    }
    if (const auto now = answer(a)) return send(*now);
    const milliseconds wanted{std::stol(value_of(a.headers, "Long-Pulling-Timeout: ", "\r"))};
    c.until = clock::now() + wanted - earlier;
    c.held = std::move(a);
}

bool fake_nacos::lets_in(const asked& a) const {
    const auto token = value_of(a.headers, "Authorization: Bearer token", "\r");
    return !token.empty() && std::stoi(token) >= first_valid_;
}

// Empty: a long poll that waits.
std::optional<fake_nacos::answered> fake_nacos::answer(const asked& a) {
    const bool has_v1 = has_ == version::with_long_polls;
    if (!has_v1 && a.target.starts_with("/nacos/v1/")) return answered{404, "{\"status\":404}", {}};
    if (a.target.find("/login") != std::string::npos) {
        if (a.form != "username=nacos&password=" + std::string{right_password})
            return answered{403, "{}", {}};
        return answered{
            200, R"({"accessToken":"token)" + std::to_string(++tokens_) + R"(","tokenTtl":18000})", {}};
    }
    if (!lets_in(a)) return answered{403, "{}", {}};
    if (a.target.starts_with("/nacos/v1/cs/configs/listener")) return poll(a);
    const auto text = texts_.find(value_of(a.target, "dataId=", "& "));
    if (a.target.starts_with("/nacos/v1/cs/configs?")) {
        if (text == texts_.end()) return answered{404, "config data not exist", {}};
        return answered{200, text->second, "Content-MD5: " + md5_of(text->second) + "\r\n"};
    }
    if (text == texts_.end())
        return answered{200, R"({"code":20004,"message":"resource not found","data":null})", {}};
    return answered{200,
                    R"({"code":0,"data":{"content":)" + in_json(text->second) + R"(,"md5":")" +
                        md5_of(text->second) + "\"}}",
                    {}};
}

// Empty: nothing is new, and the question may be held.
std::optional<fake_nacos::answered> fake_nacos::poll(const asked& a) const {
    const auto question = decoded(value_of(a.form, "Listening-Configs=", "&"));
    const auto id = question.substr(0, question.find('\2'));
    const auto group_end = question.find('\2', id.size() + 1);
    const auto md5 =
        question.substr(group_end + 1, question.find_first_of("\1\2", group_end + 1) - group_end - 1);
    const auto text = texts_.find(id);
    const auto now = text == texts_.end() ? std::string{} : md5_of(text->second);
    if (md5 != now) return answered{200, id + "%02tests%01\n", {}};
    if (a.headers.find("Long-Pulling-Timeout: ") == std::string::npos) return answered{};
    return std::nullopt;
}

}  // namespace holdfast::test
