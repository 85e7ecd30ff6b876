#include "interop/peer.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace holdfast::test {

namespace {

// Java on a busy machine takes its time. Only a failing test waits for so long.
constexpr std::chrono::milliseconds peer_patience{30'000};

const std::string fetched = std::string{HOLDFAST_INTEROP} + "/";

peer& one_for_all(const std::string& which, const std::function<std::unique_ptr<peer>()>& start) {
    (void)interop_server();  // made first, destroyed last
    static std::map<std::string, std::unique_ptr<peer>> running;
    auto& one = running[which];
    if (one == nullptr) one = start();
    return *one;
}

peer& the_poller(const std::string& name) {
    return one_for_all(name, [&] { return start_poller(name); });
}

}  // namespace

redis_server& interop_server() {
    static redis_server server;
    return server;
}

peer::peer(const std::vector<std::string>& program) : process_(program) {
    identity_ = request{*this, "0"}.get();
}

peer::request peer::ask(std::string_view thread, std::string_view verb, std::string_view kind,
                        std::string_view name, const std::vector<long>& arguments) {
    const std::string id = std::to_string(++asked_);
    std::string line = id;
    for (const auto word : {thread, verb, kind, name}) line.append(" ").append(word);
    for (const long argument : arguments) line.append(" ").append(std::to_string(argument));
    process_.write(line + "\n");
    return {*this, id};
}

const std::string* peer::find(const std::string& id, milliseconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    for (;;) {
        const std::string& all = process_.output();
        for (auto end = all.find('\n', read_); end != std::string::npos; end = all.find('\n', read_)) {
            const std::string line = all.substr(read_, end - read_);
            const auto space = line.find(' ');
            answers_[line.substr(0, space)] = line.substr(space + 1);
            read_ = end + 1;
        }
        if (const auto found = answers_.find(id); found != answers_.end()) return &found->second;
        const auto left = std::chrono::ceil<milliseconds>(deadline - std::chrono::steady_clock::now());
        // Without a limit too it reads what is there.
        if (!process_.wait_for_output("\n", std::max(left, milliseconds{0}))) return nullptr;
    }
}

bool peer::request::ready(milliseconds limit) { return of_->find(id_, limit) != nullptr; }

std::string peer::request::answer() {
    if (const auto* said = of_->find(id_, peer_patience)) return *said;
    throw std::runtime_error{"the other client does not answer request " + id_ + ". Its errors:\n" +
                             of_->process_.errors()};
}

std::string peer::request::get() {
    const std::string said = answer();
    if (said == "ok") return {};
    if (said.starts_with("ok ")) return said.substr(3);
    throw std::runtime_error{"the other client " + said};
}

std::string peer::request::failure() {
    const std::string said = answer();
    if (said.starts_with("failed ")) return said.substr(7);
    throw std::runtime_error{"the other client did not fail, but says " + said};
}

std::unique_ptr<peer> start_redisson(const std::string& version, std::chrono::milliseconds watchdog) {
    const std::string folder = fetched + "redisson-" + version;
    return std::make_unique<peer>(std::vector<std::string>{
        "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", folder + ":" + folder + "/lib/*", "Peer",
        interop_server().url(), std::to_string(watchdog.count())});
}

peer& redisson(const std::string& version) {
    return one_for_all("redisson " + version, [&] { return start_redisson(version); });
}

std::unique_ptr<peer> start_poller(const std::string& name) {
    const std::string host = "127.0.0.1";
    const auto port = std::to_string(interop_server().port());
    std::vector<std::string> program;
    if (name == "redis_py")
        program = {fetched + "redis_py/bin/python", HOLDFAST_SOURCE_DIR "/tests/interop/redis_py/peer.py",
                   host, port};
    else if (name == "redsync")
        program = {fetched + "redsync/peer", host + ":" + port};
    else
        program = {"node", fetched + "node_redlock/peer.mjs", host, port};
    return std::make_unique<peer>(program);
}

peer& redis_py() { return the_poller("redis_py"); }
peer& redsync() { return the_poller("redsync"); }
peer& node_redlock() { return the_poller("node_redlock"); }

}  // namespace holdfast::test
