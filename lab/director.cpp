#include "lab/director.hpp"

#include "lab/protocol.hpp"

#include "cli/stage/interrupted.hpp"

#include "base/random.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <utility>
#include <vector>

namespace holdfast::lab {

namespace {

using namespace std::chrono_literals;

constexpr auto key = "lock";
// Between two looks at a key that is to expire.
constexpr auto look_gap = 2ms;
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
      child_("/proc/self/exe", {"holdfast", "lab", "--perform"}, cli::stage::helper::talk::lines) {
    child_.say(to_line(told));
}

std::string process::run(std::string_view to) {
    by_.running_ = name_;
    last_command_.reset();
    stands_at_.clear();
    child_.say(fmt::format("run {}", to));
    auto at = by_.wait_for(*this);
    by_.look(last_command_.value_or(boot_clock::now()));
    return at;
}

bool process::refused(int times) {
    for (int i = 0; i < times; ++i) {
        if (run("before_retry") != "before_retry") return false;
    }
    return true;
}

void process::kill() {
    by_.look(boot_clock::now());
    child_.signal(SIGKILL);
    by_.fault(*this, "is killed (SIGKILL)");
    by_.made_.believes_no_more(name_, by_.since_start(boot_clock::now()));
    ended_ = true;
}

void process::pause() {
    child_.signal(SIGSTOP);
    child_.wait_until_stopped();
    by_.fault(*this, "stands still (SIGSTOP)");
}

void process::resume() {
    child_.signal(SIGCONT);
    by_.fault(*this, "goes on (SIGCONT)");
}

// --- director ----------------------------------------------------------------------------------------------

director::director(const surroundings& around, std::string scheme, std::chrono::milliseconds ttl)
    : around_(around),
      scheme_(std::move(scheme)),
      ttl_(ttl),
      resource_(around.socket),
      truth_(around.socket),
      socket_(around.socket),
      begun_(boot_clock::now()),
      made_(scheme_, ttl) {
    truth_.send({"FLUSHALL"});
    allow_all();
}

process& director::start(const std::string& name, const peculiarities& how) {
    auto& made =
        processes_.emplace_back(*this, part{.name = name,
                                            .scheme = scheme_,
                                            .socket = socket_,
                                            .password = password_,
                                            .resource = around_.socket,
                                            .key = key,
                                            .owner = how.owner.value_or(fmt::format(
                                                "{}-{}", name, base::client_id::make().hex().substr(0, 8))),
                                            .ttl = ttl_,
                                            .nested = how.nested,
                                            .stack = how.stack});
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

std::string director::owner() {
    look(boot_clock::now());
    return made_.owner();
}

bool director::key_expires() {
    look(boot_clock::now());
    return !identity_.empty() && ends_;
}

boot_clock::time_point director::key_ends() {
    look(boot_clock::now());
    if (!ends_) throw too_slow("the key was gone already");
    return *ends_;
}

void director::wait_until_gone() {
    const auto limit = boot_clock::now() + 2 * ttl_ + answer_limit;
    while (look(boot_clock::now()), !identity_.empty()) {
        if (boot_clock::now() > limit)
            throw std::runtime_error(fmt::format("the key of {} does not come to its end", scheme_));
        listen(look_gap);
    }
}

bool director::wait_beyond_ttl() {
    const auto end = key_ends() + ttl_ / 2;
    while (look(boot_clock::now()), !identity_.empty()) {
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

void director::make_key_last() { truth_.send({"PERSIST", key}); }

void director::cut_connections() {
    for (const auto* const type : {"normal", "pubsub"})
        truth_.send({"CLIENT", "KILL", "TYPE", type, "SKIPME", "yes"});
}

void director::forbid(const std::vector<std::string>& commands) {
    for (const auto& command : commands) truth_.send({"ACL", "SETUSER", "default", "-" + command});
}

void director::allow_all() { truth_.send({"ACL", "SETUSER", "default", "+@all"}); }

std::string director::resource() { return resource_.send({"GET", "resource"}).text(); }

void director::use_master_and_replica() {
    password_ = base::client_id::make().hex();
    master_.emplace(around_.folder,
                    cli::stage::server_options{.name = "master", .password = password_, .listens = true});
    replica_.emplace(
        around_.folder,
        cli::stage::server_options{
            .name = "replica", .password = password_, .listens = true, .master_port = master_->port()});
    connection to_replica{replica_->socket().string(), password_};
    const auto limit = boot_clock::now() + answer_limit;
    while (!(to_replica.send({"ROLE"}).items().at(3) == "connected")) {
        if (boot_clock::now() > limit) throw std::runtime_error("the replica does not find its master");
        listen(look_gap);
    }
    socket_ = master_->socket().string();
    truth_ = connection{socket_, password_};
}

void director::cut_replication() {
    connection to_replica{replica_->socket().string(), password_};
    to_replica.send({"REPLICAOF", "127.0.0.1", "1"});  // where nobody listens
}

void director::fail_over() {
    look(boot_clock::now());
    master_->kill();
    socket_ = replica_->socket().string();
    truth_ = connection{socket_, password_};
    truth_.send({"REPLICAOF", "NO", "ONE"});
    look(boot_clock::now());
}

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
            throw std::runtime_error(fmt::format("process {} of {} does not answer", one.name_, scheme_));
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
    made_.believes_no_more(from.name_, since_start(boot_clock::now()));
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
        case report::kind::says: note(event_kind::says); break;
        case report::kind::stop:
            from.stands_at_ = seen.text;
            if (seen.text != point::ready) note(event_kind::stop);
            break;
        case report::kind::believes: made_.believes(from.name_, at); break;
        case report::kind::believes_no_more:
            made_.believes_no_more(from.name_, at,
                                   seen.until ? std::optional{since_start(*seen.until)} : std::nullopt);
            break;
    }
}

// Only one process runs at a time, so whatever is new in the key is its work.
void director::look(boot_clock::time_point at) {
    const auto type = truth_.send({"TYPE", key}).text();
    std::string now;
    if (type == "string") now = truth_.send({"GET", key}).text();
    // The fields and not their values: a count may change late, the owner does not.
    if (type == "hash") now = truth_.send({"HKEYS", key}).shown();
    const auto left = truth_.send({"PTTL", key}).number();
    const auto asked = boot_clock::now();
    if (left == -2) now.clear();  // it ended between these questions

    if (now.empty()) {
        // The server dates the end better than we, who looked later.
        made_.owned_by("", since_start(ends_ ? std::min(at, *ends_) : at));
        ends_.reset();
    } else {
        if (now != identity_) made_.owned_by(running_, since_start(at));
        ends_ = left < 0 ? std::nullopt : std::optional{asked + std::chrono::milliseconds{left}};
    }
    identity_ = std::move(now);
}

}  // namespace holdfast::lab
