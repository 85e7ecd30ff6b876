#include "lab/director.hpp"

#include "lab/carrier.hpp"
#include "lab/protocol.hpp"

#include "cli/stage/interrupted.hpp"

#include "base/random.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace holdfast::lab {

namespace {

using namespace std::chrono_literals;

constexpr auto key = "lock";
// Between two looks at a key that is to expire.
constexpr auto look_gap = 2ms;
// By an administrator, for the one scheme that wants to see it.
const words mark_of_a_member{"SET", "member", "yes"};
// A process that does not come to its next stop in this time never will.
constexpr auto answer_limit = 30s;

std::string how_it_ended(int status) {
    if (WIFSIGNALED(status)) {
        const auto* const name = ::sigabbrev_np(WTERMSIG(status));
        return fmt::format("is killed by the signal {}", name != nullptr ? name : "?");
    }
    return fmt::format("ends with code {}", WEXITSTATUS(status));
}

}  // namespace

// --- process -----------------------------------------------------------------------------------------------

process::process(director& by, const part& told)
    : by_(by),
      name_(told.name),
      child_("/proc/self/exe", {"holdfast", "lab", "--perform"}, cli::stage::helper::talk::lines),
      owner_(told.owner) {
    child_.say(to_line(told));
}

void process::go(std::string_view to) {
    last_command_.reset();
    stands_at_.clear();
    child_.say(fmt::format("run {}", to));
}

std::string process::arrive() {
    by_.running_ = name_;
    auto at = by_.wait_for(*this);
    by_.look(last_command_.value_or(boot_clock::now()));
    return at;
}

void process::broken(std::string_view at) const {
    throw play_broken(at == point::ended ? fmt::format("process {} ended", name_)
                                         : fmt::format("process {} stands at {}", name_, at));
}

void process::enters() {
    if (const auto at = run(point::in_cs); at != point::in_cs) broken(at);
}

bool process::gets_in() {
    const auto at = run(point::before_retry);
    if (at != point::before_retry && at != point::in_cs && at != point::nested) broken(at);
    return at != point::before_retry;
}

bool process::refused(int times) {
    for (int i = 0; i < times; ++i) {
        if (gets_in()) return false;
    }
    return true;
}

void process::writes() {
    if (const auto at = run(point::done); at != point::done) broken(at);
    if (by_.resource() != "written by " + name_)
        throw play_broken(fmt::format("process {} did not write", name_));
}

void process::kill() {
    by_.look(boot_clock::now());
    child_.signal(SIGKILL);
    by_.fault(*this, "is killed (SIGKILL)");
    by_.made_.dies(name_, by_.since_start(boot_clock::now()));
    ended_ = true;
}

void process::pause() {
    if (ended_ || stands_at_ == point::done || stands_at_ == point::failed)
        broken(ended_ ? point::ended : stands_at_);
    child_.signal(SIGSTOP);
    child_.wait_until_stopped();
    by_.fault(*this, "stands still (SIGSTOP)");
    by_.made_.stands_still(name_, by_.since_start(boot_clock::now()));
}

void process::resume() {
    by_.made_.moves_again(name_, by_.since_start(boot_clock::now()));
    by_.fault(*this, "goes on (SIGCONT)");
    child_.signal(SIGCONT);
}

// --- director ----------------------------------------------------------------------------------------------

director::director(const surroundings& around, std::string scheme, std::chrono::milliseconds ttl)
    : around_(around),
      scheme_(std::move(scheme)),
      where_(find_scheme(scheme_)->where),
      ttl_(ttl),
      resource_(around.socket),
      begun_(boot_clock::now()),
      made_(scheme_, ttl) {
    resource_.send({"FLUSHALL"});
    resource_.send(mark_of_a_member);
    use({.socket = around.socket, .truth = std::make_unique<redis_keeper>(around.socket)}, "key");
    allow_all();
    free_memory();
    if (where_ == kept::in_table) leave_places();
    if (where_ == kept::in_table || where_ == kept::on_server_or_in_table) {
        table_ = (around_.folder.path() / "locks.db").string();
        std::filesystem::remove(table_);
        use({.socket = {}, .truth = std::make_unique<table_keeper>(table_)}, "row");
    }
}

process& director::start(const std::string& name, const peculiarities& how) {
    part told{
        .name = name,
        .scheme = scheme_,
        .sockets = {},
        .password = password_,
        .table = table_,
        .resource = around_.socket,
        .key = key,
        .owner = how.owner.value_or(fmt::format("{}-{}", name, base::client_id::make().hex().substr(0, 8))),
        .ttl = ttl_,
        .nested = how.nested,
        .stack = how.stack,
        .clock_ahead = how.clock_ahead};
    for (const auto& one : nodes_) {
        if (!one.socket.empty()) told.sockets.push_back(one.socket);
    }
    // The network ends there for it.
    for (const int server : how.cut_off_from) {
        const auto number = static_cast<std::size_t>(server) - 1;
        if (number < told.sockets.size()) told.sockets[number] = dead_end();
    }
    if (how.carried && !told.sockets.empty()) told.sockets.front() = carry(told.sockets.front());
    auto& made = processes_.emplace_back(*this, told);
    wait_for(made);
    return made;
}

void director::step(const std::string& text) {
    made_.note({.at = since_start(boot_clock::now()), .kind = event_kind::step, .text = text});
}

void director::remark(const std::string& text) {
    made_.note({.at = since_start(boot_clock::now()), .kind = event_kind::says, .text = text});
}

void director::fault(const process& who, const std::string& text) {
    made_.note(
        {.at = since_start(boot_clock::now()), .kind = event_kind::fault, .who = who.name_, .text = text});
}

void director::use(node made, const std::string& name) {
    nodes_.push_back(std::move(made));
    made_.add_place(name);
}

connection& director::to(node& server) {
    auto* const redis = dynamic_cast<redis_keeper*>(server.truth.get());
    if (redis == nullptr) throw play_broken(fmt::format("{} has no Redis to do this to", scheme_));
    return redis->link();
}

director::node& director::numbered(int server) {
    return nodes_.at(std::min(static_cast<std::size_t>(server), nodes_.size()) - 1);
}

void director::intervene(node& server, const words& command) {
    const auto answer = to(server).send(command);
    made_.note({.at = since_start(boot_clock::now()),
                .kind = event_kind::command,
                .who = {},
                .text = fmt::format("{}", fmt::join(command, " ")),
                .reply = answer.shown()});
}

std::string director::owner() {
    look(boot_clock::now());
    return made_.owner();
}

bool director::is_kept() const {
    return std::ranges::any_of(nodes_, [](const node& one) { return !one.identity.empty(); });
}

bool director::key_expires() {
    look(boot_clock::now());
    if (!is_kept()) throw too_slow("the key was gone already");
    return std::ranges::all_of(nodes_, [](const node& one) { return one.identity.empty() || one.ends; });
}

boot_clock::time_point director::key_ends() {
    look(boot_clock::now());
    auto first = boot_clock::time_point::max();
    for (const auto& one : nodes_) first = std::min(first, one.ends.value_or(first));
    if (first == boot_clock::time_point::max()) throw too_slow("the key was gone already");
    return first;
}

void director::must_last(std::chrono::milliseconds at_least) const {
    if (ttl_ < at_least) throw too_slow("this needs a longer TTL");
}

void director::wait_until_gone() {
    const auto limit = boot_clock::now() + 2 * ttl_ + answer_limit;
    while (look(boot_clock::now()), is_kept()) {
        if (boot_clock::now() > limit)
            throw play_broken(fmt::format("the key of {} does not come to its end", scheme_));
        listen(look_gap);
    }
}

bool director::wait_beyond_ttl() {
    const auto end = key_ends() + ttl_ / 2;
    while (look(boot_clock::now()), is_kept()) {
        if (boot_clock::now() > end) return false;
        const auto before = boot_clock::now();
        listen(look_gap);
        // Who is to renew was not let run either.
        if (boot_clock::now() - before > ttl_ / 4) throw too_slow("the machine stood still");
    }
    return true;
}

void director::must_be_before(boot_clock::time_point end) const {
    if (boot_clock::now() >= end) throw too_slow("the key ended too early");
}

void director::must_be_owned_by(const process& who) {
    if (owner() != who.name_) throw too_slow(fmt::format("{} lost the key too early", who.name_));
}

void director::make_key_last() { intervene(nodes_.front(), {"PERSIST", key}); }

void director::cut_connections() {
    for (const auto* const type : {"normal", "pubsub"})
        intervene(nodes_.front(), {"CLIENT", "KILL", "TYPE", type, "SKIPME", "yes"});
}

void director::cut_subscriptions() {
    const auto limit = boot_clock::now() + answer_limit / 3;
    while (to(nodes_.front()).send({"PUBSUB", "CHANNELS"}).items().empty()) {
        if (boot_clock::now() > limit) throw play_broken("nobody subscribes");
        listen(look_gap);
    }
    intervene(nodes_.front(), {"CLIENT", "KILL", "TYPE", "pubsub"});
}

void director::forbid(const std::vector<std::string>& commands) {
    for (const auto& command : commands)
        intervene(nodes_.front(), {"ACL", "SETUSER", "default", "-" + command});
}

void director::allow_all() { to(nodes_.front()).send({"ACL", "SETUSER", "default", "+@all"}); }

void director::fill_memory() { intervene(nodes_.front(), {"CONFIG", "SET", "maxmemory", "1"}); }

void director::free_memory() { to(nodes_.front()).send({"CONFIG", "SET", "maxmemory", "0"}); }

std::string director::resource() { return resource_.send({"GET", "resource"}).text(); }

// --- where the lock lives ----------------------------------------------------------------------------------

void director::start_server(node& into, const cli::stage::server_options& how) {
    into.server = std::make_unique<cli::stage::private_server>(around_.folder, how);
    into.socket = into.server->socket().string();
    into.truth = std::make_unique<redis_keeper>(into.socket, password_);
    to(into).send(mark_of_a_member);
}

void director::leave_places() {
    nodes_.clear();
    made_.clear_places();
}

void director::use_masters(int number) {
    if (where_ == kept::in_table) return;
    leave_places();
    if (where_ != kept::on_many) number = 1;
    for (int i = 1; i <= number; ++i) {
        const auto name = fmt::format("node{}", i);
        node made;
        made.clock = std::make_unique<false_clock>(around_.folder.path(), name);
        start_server(made,
                     {.name = name, .environment = made.clock->environment(), .signals = &around_.signals});
        use(std::move(made), number > 1 ? fmt::format("node {}", i) : "key");
    }
}

void director::kill(int server) {
    look(boot_clock::now());
    auto& one = numbered(server);
    one.server->kill();
    one.truth.reset();
    remark(fmt::format("node {} is killed (SIGKILL)", server));
    look(boot_clock::now());
}

void director::restart(int server) {
    look(boot_clock::now());
    auto& one = numbered(server);
    one.server->restart();
    one.truth = std::make_unique<redis_keeper>(one.socket, password_);
    remark(fmt::format("node {} is killed, and started again without its data", server));
    look(boot_clock::now());
}

bool director::stops_at(std::string_view point) const {
    // Its source is here, so it need not say so twice.
    return find_scheme(scheme_)->source.find(fmt::format("stop(\"{}\")", point)) != std::string_view::npos;
}

void director::step_clock(int server, std::chrono::seconds by) {
    look(boot_clock::now());
    auto& one = numbered(server);
    const auto time = [&] {
        return std::chrono::seconds{std::stoll(to(one).send({"TIME"}).items().at(0).text())};
    };
    const auto before = time();
    one.clock->step(by);
    if (time() - before < by / 2)
        throw std::runtime_error("the clock of a server cannot be set wrong here: LD_PRELOAD has no effect");
    remark(fmt::format("the clock of node {} jumps by {} s", server, by.count()));
    look(boot_clock::now());
}

void director::use_master_and_replica() {
    leave_places();
    password_ = base::client_id::make().hex();
    node master;
    start_server(master,
                 {.name = "master", .password = password_, .listens = true, .signals = &around_.signals});
    const auto port = master.server->port();
    use(std::move(master), where_ == kept::on_many ? "node 1" : "key");
    for (int i = 2; i <= 3 && where_ == kept::on_many; ++i) {
        node other;
        start_server(other,
                     {.name = fmt::format("node{}", i), .password = password_, .signals = &around_.signals});
        use(std::move(other), fmt::format("node {}", i));
    }
    replica_ = std::make_unique<cli::stage::private_server>(
        around_.folder, cli::stage::server_options{.name = "replica",
                                                   .password = password_,
                                                   .listens = true,
                                                   .master_port = port,
                                                   .signals = &around_.signals});
    connection to_replica{replica_->socket().string(), password_};
    const auto limit = boot_clock::now() + answer_limit;
    while (!(to_replica.send({"ROLE"}).items().at(3) == "connected")) {
        if (boot_clock::now() > limit) throw std::runtime_error("the replica does not find its master");
        listen(look_gap);
    }
}

void director::cut_replication() {
    connection to_replica{replica_->socket().string(), password_};
    to_replica.send({"REPLICAOF", "127.0.0.1", "1"});  // where nobody listens
    remark("the replica is sent REPLICAOF 127.0.0.1 1, where nobody listens");
}

void director::fail_over() {
    look(boot_clock::now());
    auto& first = nodes_.front();
    first.server->kill();
    remark("the master is killed (SIGKILL)");
    first.socket = replica_->socket().string();
    first.truth = std::make_unique<redis_keeper>(first.socket, password_);
    intervene(first, {"REPLICAOF", "NO", "ONE"});
    look(boot_clock::now());
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

std::string director::carry(const std::string& socket) {
    auto from = (around_.folder.path() / "carrier.sock").string();
    carrier_ = std::make_unique<cli::stage::helper>("/proc/self/exe",
                                                    std::vector<std::string>{"holdfast", "lab", "--carry"},
                                                    cli::stage::helper::talk::lines);
    for (const auto& word : {from, socket, std::string{key}}) carrier_->say(word);
    wait_for_carrier();
    return from;
}

void director::lose_next_answer() {
    carrier_->say("lose");
    wait_for_carrier();
}

void director::must_have_lost_it() {
    wait_for_carrier();
    remark("an answer of the server got lost on its way to A");
}

void director::wait_for_carrier() {
    const auto limit = boot_clock::now() + answer_limit;
    while (!carrier_->next_line()) {
        if (carrier_->silent() || boot_clock::now() > limit)
            throw std::runtime_error("what carries the commands says nothing");
        listen(look_gap);
    }
}

// --- what happens ------------------------------------------------------------------------------------------

record director::finish() {
    look(boot_clock::now());
    listen(0ms);
    const auto end = since_start(boot_clock::now());
    processes_.clear();
    return made_.finish(end);
}

std::string director::wait_for(process& one) {
    const auto limit = boot_clock::now() + answer_limit;
    while (one.stands_at_.empty() && !one.ended_) {
        if (boot_clock::now() > limit)
            throw play_broken(fmt::format("process {} of {} does not answer", one.name_, scheme_));
        listen(100ms);
    }
    return one.ended_ ? std::string{point::ended} : one.stands_at_;
}

void director::listen(std::chrono::milliseconds at_most) {
    std::vector<pollfd> sources{{around_.signals.fd(), POLLIN, 0}};
    for (const auto& one : processes_) sources.push_back({one.ended_ ? -1 : one.child_.fd(), POLLIN, 0});
    ::poll(sources.data(), sources.size(), static_cast<int>(at_most.count()));
    cli::stage::obey(around_.signals);
    for (auto& one : processes_) {
        if (!one.ended_) hear(one);
    }
}

void director::hear(process& from) {
    while (const auto line = from.child_.next_line()) take(from, report_from(*line));
    if (!from.child_.silent()) return;
    from.child_.wait_until_stopped();  // its output is closed by its end, which is a moment away at most
    const auto status = from.child_.status();
    if (!status) return;
    from.ended_ = true;
    fault(from, how_it_ended(*status));
    made_.dies(from.name_, since_start(boot_clock::now()));
}

void director::take(process& from, const report& seen) {
    const auto at = since_start(seen.at);
    const auto note = [&](event_kind kind) {
        made_.note({.at = at, .kind = kind, .who = from.name_, .text = seen.text, .reply = seen.reply});
    };
    switch (seen.what) {
        case report::kind::command:
            from.last_command_ = seen.at;
            note(event_kind::command);
            break;
        case report::kind::write: note(event_kind::command); break;
        case report::kind::says: note(event_kind::says); break;
        case report::kind::stop:
            from.stands_at_ = seen.text;
            if (seen.text != point::ready) note(event_kind::stop);
            if (seen.text == point::before_retry) made_.waits(from.name_, at);
            if (seen.text == point::nested || seen.text == point::failed) made_.waits_no_more(from.name_, at);
            break;
        case report::kind::believes:
            from.believes_since_ = seen.at;
            if (!from.last_command_) from.last_command_ = seen.at;
            made_.believes(from.name_, at);
            break;
        case report::kind::believes_no_more:
            made_.believes_no_more(from.name_, at,
                                   seen.until ? std::optional{since_start(*seen.until)} : std::nullopt);
            break;
    }
}

void director::look(boot_clock::time_point at) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) look_at(i, at);
}

std::string director::owner_of(const std::string& identity) const {
    // An owner that says its name. Two processes may have the same one, which is a flaw of its own.
    std::vector<const process*> named;
    std::vector<const process*> under_way;
    for (const auto& one : processes_) {
        if (identity.find(one.owner_) != identity.npos) named.push_back(&one);
        if (one.stands_at_.empty() && !one.ended_) under_way.push_back(&one);
    }
    if (named.size() == 1) return named.front()->name_;
    return under_way.empty() ? running_ : std::string{};
}

void director::look_at(std::size_t number, boot_clock::time_point at) {
    auto& one = nodes_[number];
    const auto seen = one.truth ? one.truth->look(key) : keeping{};  // nobody: it is dead
    const auto asked = boot_clock::now();
    if (seen.identity.empty()) {
        // The server dates the end better than we, who looked later.
        made_.owned_by(number, "", since_start(one.ends ? std::min(at, *one.ends) : at));
        one.ends.reset();
        one.identity.clear();
        return;
    }
    if (seen.identity != one.identity) {
        const auto who = owner_of(seen.identity);
        if (who.empty()) return;  // whoever took it has not told so yet
        made_.owned_by(number, who, since_start(at));
        one.identity = seen.identity;
    }
    one.ends = seen.left ? std::optional{asked + *seen.left} : std::nullopt;
}

}  // namespace holdfast::lab
