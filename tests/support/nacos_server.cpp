#include "support/nacos_server.hpp"

#include "support/http_call.hpp"
#include "support/loopback.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace holdfast::test {

namespace {

const std::string fetched_nacos = std::string{HOLDFAST_INTEROP_FETCHED} + "/nacos";

std::string contents(const std::string& path) {
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
}

// As bound_socket(), of all addresses; empty if another socket has the port, be it of one address only.
unique_fd bound_to_all(std::uint16_t port) {
    unique_fd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return {};
    return fd;
}

// Its database gives up when the machine is too slow for it at that moment.
constexpr int most_attempts = 5;

}  // namespace

nacos_server::four_ports::four_ports() {
    while (!reserve()) {
    }
}

// Nacos takes the numbers of three ports from that of the first.
bool nacos_server::four_ports::reserve() {
    held_ = {};
    held_[0] = bound_socket(0);
    number_ = port_of(held_[0]);
    if (number_ < 3'000 || number_ > 60'000) return false;
    std::size_t n = 1;
    for (const int more : {-1'000, 1'000, 1'001}) {
        auto& one = held_.at(n++);
        one = bound_to_all(static_cast<std::uint16_t>(number_ + more));
        if (!one) return false;
    }
    return true;
}

nacos_server::nacos_server(version has) : has_(has) {
    start();
    make_user();
}

nacos_server::~nacos_server() { stop(); }

std::string nacos_server::url(const std::string& id, const std::string& password) const {
    return "nacos://nacos:" + password + "@127.0.0.1:" + std::to_string(ports_.number()) + "/public/tests/" +
           id + "?long_poll=10s";
}

void nacos_server::write_config() {
    std::filesystem::create_directories(home_.path() / "conf");
    std::ofstream{home_.path() / "conf" / "application.properties"}
        << "nacos.server.main.port=" << ports_.number() << "\n"
        << "nacos.server.contextPath=/nacos\n"
        << "server.address=127.0.0.1\n"
        << "nacos.core.auth.enabled=true\n"
        << "nacos.core.auth.admin.enabled=true\n"
        << "nacos.core.auth.console.enabled=true\n"
        << "nacos.core.auth.system.type=nacos\n"
        << "nacos.core.auth.server.identity.key=tests\n"
        << "nacos.core.auth.server.identity.value=tests\n"
        // Base64 of 39 bytes; another one at each start, so that the tokens of before are worth nothing.
        << "nacos.core.auth.plugin.nacos.token.secret.key=c2VjcmV0LWtleS1vZi10aGUtdGVzdHMtMDEyMzQ1Njc4OTAx"
        << static_cast<char>('A' + starts_ % 26) << "DEy\n"
        << "nacos.core.auth.plugin.nacos.token.expire.seconds=" << tokens_live.count() << "\n"
        << "nacos.core.api.compatibility.client.enabled="
        << (has_ == version::with_long_polls ? "true" : "false") << "\n";
}

void nacos_server::stop() {
    if (process_) process_->kill();
}

void nacos_server::start() {
    ++starts_;
    write_config();
    for (int i = 1; i < most_attempts; ++i) {
        if (try_start()) return;
        // What the first start has left of a database is of no use.
        if (starts_ == 1) std::filesystem::remove_all(home_.path() / "data");
    }
    if (!try_start())
        throw std::runtime_error{"a Nacos server does not start\n" + process_->errors() + process_->output()};
}

bool nacos_server::try_start() {
    const auto home = home_.path().string();
    process_.emplace(std::vector<std::string>{
        "java", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.home=" + home,
        "-Dnacos.home=" + home, "-Dderby.stream.error.file=" + home + "/derby.log", "-Dnacos.standalone=true",
        "-Dnacos.functionMode=config", "-Dnacos.server.ip=127.0.0.1", "-cp",
        fetched_nacos + ':' + contents(fetched_nacos + "/class_path"), "NacosServer",
        "--spring.config.additional-location=file:" + home + "/conf/"});
    const bool serves = eventually(patience, [&] {
        return !process_->running() ||
               http_call(ports_.number(), "GET", "/nacos/v3/admin/core/state/readiness").status == 200;
    });
    return serves && process_->running();
}

// The login works a while after that.
void nacos_server::make_user() {
    const auto made = http_call(ports_.number(), "POST", "/nacos/v3/auth/user/admin",
                                "password=" + std::string{right_password});
    if (made.status != 200 || !eventually(patience, [&] { return !token().empty(); }))
        throw std::runtime_error{"a Nacos server makes no user: " + made.body};
}

std::string nacos_server::token() const {
    const auto got = http_call(ports_.number(), "POST", "/nacos/v3/auth/user/login",
                               "username=nacos&password=" + std::string{right_password});
    const std::string before = "\"accessToken\":\"";
    const auto at = got.body.find(before);
    if (got.status != 200 || at == std::string::npos) return {};
    const auto begin = at + before.size();
    return got.body.substr(begin, got.body.find('"', begin) - begin);
}

void nacos_server::administer(const std::string& method, const std::string& target, const std::string& form) {
    http_result last;
    const bool done = eventually(patience, [&] {
        last = http_call(ports_.number(), method, target, form, {"Authorization: Bearer " + token()});
        return last.status == 200;
    });
    if (!done) throw std::runtime_error{"a Nacos server refuses " + target + ": " + last.body};
}

void nacos_server::publish(const std::string& id, const std::string& text) {
    administer("POST", "/nacos/v3/admin/cs/config",
               "groupName=tests&dataId=" + id + "&content=" + percent_encoded(text));
}

void nacos_server::erase(const std::string& id) {
    administer("DELETE", "/nacos/v3/admin/cs/config?groupName=tests&dataId=" + id, {});
}

}  // namespace holdfast::test
