#include "support/peer.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace holdfast::test {

namespace {

// Where fetch.sh puts the clients, and their sources.
const std::string fetched = std::string{HOLDFAST_INTEROP_FETCHED} + "/";
const std::string sources = std::string{HOLDFAST_INTEROP_SOURCES} + "/";

std::vector<std::string> in_java(const std::string& folder, const std::string& program,
                                 java_for what = java_for::tests) {
    std::vector<std::string> java{"java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"};
    if (what == java_for::tests)
        java.insert(java.end(), {"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"});
    else
        java.emplace_back("-Xmx1g");
    java.insert(java.end(), {"-cp", fetched + folder + ":" + fetched + folder + "/lib/*", program});
    return java;
}

}  // namespace

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
        // It reads the available output even when no time is left.
        if (!process_.wait_for_output("\n", std::max(left, milliseconds{0}))) return nullptr;
    }
}

bool peer::request::ready(milliseconds limit) { return of_->find(id_, limit) != nullptr; }

std::string peer::request::answer() {
    if (const auto* reply = of_->find(id_, patience)) return *reply;
    throw std::runtime_error{"the other client does not answer request " + id_ + ". Its errors:\n" +
                             of_->process_.errors()};
}

std::string peer::request::get() {
    const std::string reply = answer();
    if (reply == "ok") return {};
    if (reply.starts_with("ok ")) return reply.substr(3);
    throw std::runtime_error{"the other client " + reply};
}

std::string peer::request::failure() {
    const std::string reply = answer();
    if (reply.starts_with("failed ")) return reply.substr(7);
    throw std::runtime_error{"the other client did not fail, but says " + reply};
}

// fetch.sh writes the stamp last.
bool is_fetched(const std::string& client) { return std::filesystem::exists(fetched + client + "/stamp"); }

std::unique_ptr<peer> start_redisson(const redis_server& server, const std::string& version,
                                     std::chrono::milliseconds watchdog, java_for what) {
    auto java = in_java("redisson-" + version, "Peer", what);
    java.insert(java.end(), {server.url(), std::to_string(watchdog.count())});
    if (what == java_for::tests) java.emplace_back("small");
    return std::make_unique<peer>(java);
}

std::unique_ptr<peer> start_poller(std::span<const redis_server> servers, const std::string& name) {
    std::vector<std::string> program;
    if (name == "redis_py")
        program = {fetched + "redis_py/bin/python", sources + "redis_py/peer.py"};
    else if (name == "redsync")
        program = {fetched + "redsync/peer"};
    else
        program = {"node", fetched + "node_redlock/peer.mjs"};
    for (const auto& server : servers) program.push_back("127.0.0.1:" + std::to_string(server.port()));
    return std::make_unique<peer>(program);
}

std::unique_ptr<peer> start_shedlock(const std::string& jdbc_url, const std::string& user) {
    auto program = in_java("shedlock", "ShedLockPeer");
    program.push_back(jdbc_url);
    program.push_back(user);
    return std::make_unique<peer>(program);
}

std::unique_ptr<peer> start_in_zookeeper(const std::string& hosts, const std::string& name,
                                         std::chrono::milliseconds session, java_for what) {
    std::vector<std::string> program;
    if (name == "curator")
        program = in_java("curator", "CuratorPeer", what);
    else if (name == "kazoo" || name == "plain_kazoo")
        program = {fetched + "kazoo/bin/python", sources + "kazoo/peer.py"};
    else
        program = {fetched + "gozk/peer"};
    program.push_back(hosts);
    program.push_back(std::to_string(session.count()));
    if (name == "plain_kazoo") program.emplace_back("plain");
    return std::make_unique<peer>(program);
}

child_process start_upserts(const std::string& jdbc_url, const std::string& user) {
    auto program = in_java("upsert", "UpsertLock");
    program.push_back(jdbc_url);
    program.push_back(user);
    return child_process{program};
}

}  // namespace holdfast::test
