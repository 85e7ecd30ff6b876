#include "support/zookeeper_server.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace holdfast::test {

namespace {

const std::string jars = "/usr/share/java/";

std::string class_path() {
    std::string all;
    for (const auto* const jar :
         {"zookeeper.jar", "zookeeper-jute.jar", "slf4j-api.jar", "slf4j-log4j12.jar", "log4j-1.2.jar",
          "netty-buffer.jar", "netty-codec.jar", "netty-common.jar", "netty-handler.jar",
          "netty-resolver.jar", "netty-transport.jar", "netty-transport-native-epoll.jar",
          "netty-transport-native-unix-common.jar", "metrics-core.jar", "snappy-java.jar", "commons-cli.jar"})
        all += (all.empty() ? "" : ":") + jars + jar;
    return all;
}

}  // namespace

bool zookeeper_servers::available() {
    if (!std::filesystem::exists(jars + "zookeeper.jar")) return false;
    child_process java{{"java", "-version"}};
    return java.wait(patience) == 0;
}

zookeeper_servers::zookeeper_servers() : zookeeper_servers(options{}) {}

zookeeper_servers::zookeeper_servers(options wanted) : options_(std::move(wanted)) {
    for (std::size_t n = 0; n < options_.servers; ++n) members_.push_back(std::make_unique<member>());
    for (std::size_t n = 0; n < size() && options_.wired; ++n) {
        for (const auto& other : members_) {
            members_[n]->to_others.push_back(
                std::make_unique<wire>(other->quorum.number(), wire::memory::none));
        }
    }
    for (const auto& m : members_) {
        if (options_.snapshot.empty()) break;
        const auto folder = m->directory.path() / "version-2";
        std::filesystem::create_directory(folder);
        std::ofstream{folder / "snapshot.1"} << options_.snapshot;
    }
    for (std::size_t n = 0; n < size(); ++n) start(n, false);
    for (std::size_t n = 0; n < size(); ++n) await(n);
}

zookeeper_servers::~zookeeper_servers() = default;

std::string zookeeper_servers::hosts() const {
    std::string all;
    for (std::size_t n = 0; n < size(); ++n) all += (n == 0 ? "" : ",") + host(n);
    return all;
}

std::string zookeeper_servers::url(const std::string& chroot) const {
    return "zk://" + hosts() + chroot + "?tick=" + std::to_string(options_.tick.count()) + "ms";
}

void zookeeper_servers::write_config(std::size_t n) const {
    const auto& own = *members_[n];
    std::ofstream conf{own.directory.path() / "zoo.cfg"};
    conf << "tickTime=" << options_.tick.count() << "\n"
         << "dataDir=" << own.directory.path().string() << "\n"
         << "clientPort=" << own.client.number() << "\n"
         << "clientPortAddress=127.0.0.1\n"
         << "maxSessionTimeout=" << options_.tick.count() * options_.longest << "\n"
         << "admin.enableServer=false\n"
         << "4lw.commands.whitelist=*\n"
         << "maxClientCnxns=0\n"
         << "initLimit=50\n"
         << "syncLimit=25\n";
    for (const auto& line : options_.config) conf << line << "\n";
    if (size() == 1) return;
    for (std::size_t i = 0; i < size(); ++i) {
        const auto quorum =
            i == n || own.to_others.empty() ? members_[i]->quorum.number() : own.to_others[i]->port();
        conf << "server." << i + 1 << "=127.0.0.1:" << quorum << ":" << members_[i]->election.number()
             << "\n";
    }
    std::ofstream{own.directory.path() / "myid"} << n + 1 << "\n";
}

void zookeeper_servers::start(std::size_t n, bool wait) {
    auto& own = *members_.at(n);
    write_config(n);
    std::ofstream{own.directory.path() / "log4j.properties"}
        << "log4j.rootLogger=INFO, F\n"
        << "log4j.appender.F=org.apache.log4j.FileAppender\n"
        << "log4j.appender.F.File=" << (own.directory.path() / "log").string() << "\n"
        << "log4j.appender.F.layout=org.apache.log4j.PatternLayout\n"
        << "log4j.appender.F.layout.ConversionPattern=%d %p %c{1} %m%n\n";
    std::vector<std::string> command{
        "java",
        "-Xmx128m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Xshare:auto",
        "-Djava.net.preferIPv4Stack=true",
        std::string{"-Dzookeeper.forceSync="} + (options_.synced ? "yes" : "no"),
        "-Dznode.container.checkIntervalMs=500",
        "-Dlog4j.configuration=file:" + (own.directory.path() / "log4j.properties").string()};
    command.insert(command.end(), options_.java.begin(), options_.java.end());
    for (const auto& word :
         {std::string{"-cp"}, class_path(), std::string{"org.apache.zookeeper.server.quorum.QuorumPeerMain"},
          (own.directory.path() / "zoo.cfg").string()})
        command.push_back(word);
    own.process.emplace(std::move(command));
    own.paused = false;
    if (wait) await(n);
}

void zookeeper_servers::await(std::size_t n) {
    auto& own = *members_.at(n);
    (void)eventually(patience,
                     [&] { return !own.process->running() || state(n).find("Mode: ") != std::string::npos; });
    if (own.process->running() && !state(n).empty()) return;
    throw std::runtime_error{"a ZooKeeper server does not start\n" + own.process->errors() + log(n)};
}

void zookeeper_servers::pause(std::size_t n) {
    members_.at(n)->process->pause();
    members_[n]->paused = true;
}

void zookeeper_servers::resume(std::size_t n) {
    members_.at(n)->process->resume();
    members_[n]->paused = false;
}

void zookeeper_servers::stop(std::size_t n) { members_.at(n)->process->kill(); }

void zookeeper_servers::cut_between(std::size_t one, std::size_t other) {
    members_.at(one)->to_others.at(other)->stall(true);
    members_.at(other)->to_others.at(one)->stall(true);
}

void zookeeper_servers::cut_off(std::size_t n) {
    for (std::size_t other = 0; other < size(); ++other)
        if (other != n) cut_between(n, other);
}

void zookeeper_servers::heal() {
    for (const auto& m : members_)
        for (const auto& w : m->to_others) w->stall(false);
}

std::size_t zookeeper_servers::leader() {
    std::optional<std::size_t> found;
    (void)eventually(patience, [&] {
        for (std::size_t n = 0; n < size() && !found; ++n) {
            const auto s = state(n);
            if (s.find("Mode: leader") != std::string::npos ||
                s.find("Mode: standalone") != std::string::npos)
                found = n;
        }
        return found.has_value();
    });
    if (!found) throw std::runtime_error{"no ZooKeeper server leads\n" + log(0)};
    return *found;
}

std::string zookeeper_servers::state(std::size_t n) const {
    // It would accept some connections, and then let connect() wait for minutes.
    if (members_.at(n)->paused) return {};
    constexpr int answers_within = 1'000;
    const auto to = connect_to(port(n));
    if (!to || ::send(to.get(), "srvr", 4, MSG_NOSIGNAL) != 4) return {};
    std::string answer;
    for (;;) {
        pollfd ready{to.get(), POLLIN, 0};
        if (::poll(&ready, 1, answers_within) <= 0) return {};
        std::array<char, 4096> bytes;
        const auto n_read = ::read(to.get(), bytes.data(), bytes.size());
        if (n_read <= 0) return answer;
        answer.append(bytes.data(), static_cast<std::size_t>(n_read));
    }
}

std::string zookeeper_servers::log(std::size_t n) const {
    std::ifstream file{members_[n]->directory.path() / "log"};
    return {std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace holdfast::test
