// What the director does to servers and to the paths to them.
#include "lab/play/director.hpp"

#include "base/random.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace holdfast::lab {

void director::add_node(node made, const std::string& name) {
    nodes_.push_back(std::move(made));
    made_.add_place(name);
}

connection& director::to(node& server) {
    auto* const redis = dynamic_cast<redis_lock_reader*>(server.truth.get());
    if (redis == nullptr) throw play_broken(fmt::format("{} has no Redis for this step", scheme_));
    return redis->link();
}

director::node& director::numbered(int server) {
    return nodes_.at(std::min(static_cast<std::size_t>(server), nodes_.size()) - 1);
}

void director::intervene(node& server, const arguments& command) {
    const auto answer = to(server).send(command);
    made_.note({.at = since_start(boot_clock::now()),
                .kind = event_kind::command,
                .who = {},
                .text = fmt::format("{}", fmt::join(command, " ")),
                .reply = answer.shown()});
}

void director::make_key_last() { intervene(nodes_.front(), {"PERSIST", key}); }

void director::cut_connections() {
    for (const auto* const type : {"normal", "pubsub"})
        intervene(nodes_.front(), {"CLIENT", "KILL", "TYPE", type, "SKIPME", "yes"});
}

void director::must_listen() {
    const auto limit = boot_clock::now() + answer_limit / 3;
    while (to(nodes_.front()).send({"PUBSUB", "CHANNELS"}).items().empty()) {
        if (boot_clock::now() > limit) throw play_broken("nobody subscribes");
        read_reports(look_gap);
    }
}

void director::cut_subscriptions() { intervene(nodes_.front(), {"CLIENT", "KILL", "TYPE", "pubsub"}); }

void director::forbid(const std::vector<std::string>& commands) {
    for (const auto& command : commands)
        intervene(nodes_.front(), {"ACL", "SETUSER", "default", "-" + command});
}

void director::allow_all() { to(nodes_.front()).send({"ACL", "SETUSER", "default", "+@all"}); }

void director::fill_memory() { intervene(nodes_.front(), {"CONFIG", "SET", "maxmemory", "1"}); }

void director::free_memory() { to(nodes_.front()).send({"CONFIG", "SET", "maxmemory", "0"}); }

void director::start_server(node& into, const cli::server_options& how) {
    into.server = std::make_unique<cli::scratch_server>(around_.folder, how);
    into.socket = into.server->socket().string();
    into.truth = std::make_unique<redis_lock_reader>(into.socket, password_);
    mark(to(into));
}

void director::clear_nodes() {
    nodes_.clear();
    made_.clear_places();
}

void director::use_masters(int number) {
    if (where_ == kept::in_table) return;
    clear_nodes();
    if (where_ != kept::on_many) number = 1;
    for (int i = 1; i <= number; ++i) {
        const auto name = fmt::format("node{}", i);
        node made;
        made.clock = std::make_unique<false_clock>(around_.folder.path(), name);
        made.clock->step(-servers_age);  // right again when it runs: stores compare their clocks
        start_server(made,
                     {.name = name, .environment = made.clock->environment(), .signals = &around_.signals});
        made.clock->step(servers_age);
        add_node(std::move(made), number > 1 ? fmt::format("node {}", i) : "key");
    }
}

void director::kill(int server) {
    look();
    auto& one = numbered(server);
    one.server->kill();
    one.truth.reset();
    remark(fmt::format("node {} is killed (SIGKILL)", server));
    look();
}

void director::restart(int server) {
    look();
    auto& one = numbered(server);
    one.server->restart();
    one.truth = std::make_unique<redis_lock_reader>(one.socket, password_);
    remark(fmt::format("node {} is killed, and started again without its data", server));
    look();
}

void director::step_clock(int server, std::chrono::seconds by) {
    look();
    auto& one = numbered(server);
    const auto time = [&] {
        return std::chrono::seconds{std::stoll(to(one).send({"TIME"}).items().at(0).text())};
    };
    const auto before = time();
    one.clock->step(by);
    if (time() - before < by / 2)
        throw std::runtime_error("the clock of a server cannot be set wrong here: LD_PRELOAD has no effect");
    remark(fmt::format("the clock of node {} jumps by {} s", server, by.count()));
    look();
}

void director::use_master_and_replica() {
    clear_nodes();
    password_ = base::client_id::make().hex();
    node master;
    start_server(master,
                 {.name = "master", .password = password_, .listens = true, .signals = &around_.signals});
    const auto port = master.server->port();
    add_node(std::move(master), where_ == kept::on_many ? "node 1" : "key");
    for (int i = 2; i <= 3 && where_ == kept::on_many; ++i) {
        node other;
        start_server(other,
                     {.name = fmt::format("node{}", i), .password = password_, .signals = &around_.signals});
        add_node(std::move(other), fmt::format("node {}", i));
    }
    replica_ = std::make_unique<cli::scratch_server>(around_.folder,
                                                     cli::server_options{.name = "replica",
                                                                         .password = password_,
                                                                         .listens = true,
                                                                         .master_port = port,
                                                                         .signals = &around_.signals});
    connection to_replica{replica_->socket().string(), password_};
    const auto limit = boot_clock::now() + answer_limit;
    while (!(to_replica.send({"ROLE"}).items().at(3) == "connected")) {
        if (boot_clock::now() > limit) throw std::runtime_error("the replica does not find its master");
        read_reports(look_gap);
    }
}

void director::cut_replication() {
    connection to_replica{replica_->socket().string(), password_};
    to_replica.send({"REPLICAOF", "127.0.0.1", "1"});  // where nobody listens
    remark("the replica is sent REPLICAOF 127.0.0.1 1, where nobody listens");
}

void director::fail_over() {
    look();
    auto& first = nodes_.front();
    first.server->kill();
    remark("the master is killed (SIGKILL)");
    first.socket = replica_->socket().string();
    first.truth = std::make_unique<redis_lock_reader>(first.socket, password_);
    intervene(first, {"REPLICAOF", "NO", "ONE"});
    look();
}

std::string director::folder_of(const std::string& process) const {
    return (around_.folder.path() / ("of " + process)).string();
}

void director::make_network(part& of, const process_options& how) {
    namespace fs = std::filesystem;
    of.folder = folder_of(of.name);
    const fs::path own{of.folder};
    fs::remove_all(own);
    fs::create_directory(own);
    if (where_ == kept::moved_by_an_arbiter) {
        for (const auto* const name : {"arbiter", "substitute"})
            fs::create_directory_symlink(around_.folder.path() / name, own / name);
    }
    int number = 0;
    for (const auto& one : nodes_) {
        if (one.socket.empty()) continue;
        ++number;
        auto way = one.socket;
        if (std::ranges::find(how.cut_off_from, number) != how.cut_off_from.end()) way = dead_end();
        if (how.may_lose_reply && number == 1) way = start_reply_dropper(way);
        of.sockets.push_back(fs::path{one.socket}.filename().string());
        fs::create_symlink(way, own / of.sockets.back());
    }
}

std::string director::dead_end() {
    auto path = (around_.folder.path() / "cut.sock").string();
    std::filesystem::remove(path);
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::strncpy(at.sun_path, path.c_str(), sizeof at.sun_path - 1);
    const cli::unique_fd bound{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (!bound || ::bind(bound.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
        throw std::system_error(errno, std::generic_category(), path);
    return path;
}

std::string director::start_reply_dropper(const std::string& socket) {
    auto from = (around_.folder.path() / "dropper.sock").string();
    reply_dropper_ = std::make_unique<cli::scoped_process>(
        "/proc/self/exe", std::vector<std::string>{"holdfast", "lab", "--drop-replies"},
        cli::scoped_process::talk::lines);
    for (const auto& line : {from, socket, std::string{key}}) reply_dropper_->say(line);
    wait_for_reply_dropper();
    return from;
}

void director::lose_next_answer() {
    reply_dropper_->say("lose");
    wait_for_reply_dropper();
}

void director::must_have_lost_it() {
    wait_for_reply_dropper();
    remark("a reply of the server got lost on its way to A");
}

void director::wait_for_reply_dropper() {
    const auto limit = boot_clock::now() + answer_limit;
    while (!reply_dropper_->next_line()) {
        if (reply_dropper_->silent() || boot_clock::now() > limit)
            throw std::runtime_error("the proxy for the commands does not answer");
        read_reports(look_gap);
    }
}

// As an administrator does, for redlock_member, the only scheme that checks it.
void director::mark(connection& server) { server.send({"SET", "member", "yes"}); }

}  // namespace holdfast::lab
