#include "lab/play/director.hpp"

#include "lab/play/protocol.hpp"

#include "cli/process/interrupted.hpp"

#include "base/random.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <utility>
#include <vector>

namespace holdfast::lab {

namespace {

std::string how_it_ended(int status) {
    if (WIFSIGNALED(status)) {
        const auto* const name = ::sigabbrev_np(WTERMSIG(status));
        return fmt::format("is killed by signal {}", name != nullptr ? name : "?");
    }
    return fmt::format("ends with code {}", WEXITSTATUS(status));
}

}  // namespace

director::director(const surroundings& around, std::string scheme, std::chrono::milliseconds ttl)
    : around_(around),
      scheme_(std::move(scheme)),
      where_(find_scheme(scheme_)->where),
      ttl_(ttl),
      resource_(around.socket),
      begun_(boot_clock::now()),
      made_(scheme_, ttl) {
    resource_.send({"FLUSHALL"});
    mark(resource_);
    add_node({.socket = around.socket, .truth = std::make_unique<redis_lock_reader>(around.socket)}, "key");
    allow_all();
    free_memory();
    if (where_ == kept::in_table) clear_nodes();
    if (where_ == kept::in_table || where_ == kept::on_server_or_in_table ||
        where_ == kept::moved_by_a_push) {
        table_ = (around_.folder.path() / "locks.db").string();
        std::filesystem::remove(table_);
        add_node({.socket = {}, .truth = std::make_unique<table_lock_reader>(table_)}, "row");
    }
    if (where_ == kept::moved_by_an_arbiter) use_joint_store();
}

process& director::start(const std::string& name, const process_options& how) {
    part own{
        .name = name,
        .scheme = scheme_,
        .folder = {},
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
    make_network(own, how);
    if (flag_pushed_) push_flag(name);
    auto& made = processes_.emplace_back(*this, own, how);
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
    look();
    return made_.owner();
}

bool director::is_kept() const {
    return std::ranges::any_of(nodes_, [](const node& one) { return !one.identity.empty(); });
}

bool director::key_expires() {
    look();
    if (!is_kept()) throw too_slow("the key was gone already");
    return std::ranges::all_of(nodes_, [](const node& one) { return one.identity.empty() || one.ends; });
}

boot_clock::time_point director::key_ends() {
    look();
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
    while (look(), is_kept()) {
        if (boot_clock::now() > limit)
            throw play_broken(fmt::format("the key of {} does not expire", scheme_));
        read_reports(look_gap);
    }
}

bool director::wait_beyond_ttl() {
    const auto end = key_ends() + ttl_ / 2;
    while (look(), is_kept()) {
        if (boot_clock::now() > end) return false;
        const auto before = boot_clock::now();
        read_reports(look_gap);
        // The thread that renews did not run either.
        if (boot_clock::now() - before > ttl_ / 4) throw too_slow("the machine stood still");
    }
    return true;
}

void director::must_be_before(boot_clock::time_point end) const {
    if (boot_clock::now() >= end) throw too_slow("the key expired too early");
}

void director::must_be_owned_by(const process& who) {
    if (owner() != who.name_) throw too_slow(fmt::format("{} lost the key too early", who.name_));
}

void director::must_own_some(const process& who) {
    look();
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        if (made_.owner_at(i) == who.name_) return;
    throw too_slow(fmt::format("{} lost the key too early", who.name_));
}

std::string director::resource() { return resource_.send({"GET", "resource"}).text(); }

bool director::stops_at(std::string_view point) const {
    // The scheme's source shows its stop points.
    return find_scheme(scheme_)->source.find(fmt::format("stop(\"{}\")", point)) != std::string_view::npos;
}

// --- reports and keys --------------------------------------------------------------------------------------

record director::finish() {
    look();
    read_reports(std::chrono::milliseconds{0});
    const auto end = since_start(boot_clock::now());
    processes_.clear();
    return made_.finish(end);
}

std::string director::wait_for(process& one) {
    const auto limit = boot_clock::now() + answer_limit;
    while (one.stands_at_.empty() && !one.ended_) {
        if (boot_clock::now() > limit)
            throw play_broken(fmt::format("process {} of {} does not answer", one.name_, scheme_));
        read_reports(std::chrono::milliseconds{100});
    }
    return one.ended_ ? std::string{point::ended} : one.stands_at_;
}

void director::read_reports(std::chrono::milliseconds at_most) {
    std::vector<pollfd> sources{{around_.signals.fd(), POLLIN, 0}};
    for (const auto& one : processes_) sources.push_back({one.ended_ ? -1 : one.child_.fd(), POLLIN, 0});
    ::poll(sources.data(), sources.size(), static_cast<int>(at_most.count()));
    cli::throw_if_interrupted(around_.signals);
    for (auto& one : processes_) {
        if (!one.ended_) read_reports_of(one);
    }
}

void director::read_reports_of(process& from) {
    while (const auto line = from.child_.next_line()) record_report(from, report_from(*line));
    if (!from.child_.silent()) return;
    from.child_.wait_until_stopped();  // its output closes when it ends, at most a moment from now
    const auto status = from.child_.status();
    if (!status) return;
    from.ended_ = true;
    fault(from, how_it_ended(*status));
    made_.dies(from.name_, since_start(boot_clock::now()));
}

void director::record_report(process& from, const report& seen) {
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
        case report::kind::says:
            from.last_message_ = seen.text;
            note(event_kind::says);
            break;
        case report::kind::stop:
            from.stands_at_ = seen.text;
            if (seen.text != point::ready) note(event_kind::stop);
            if (seen.text == point::before_retry) made_.waits(from.name_, at);
            if (seen.text == point::nested || seen.text == point::failed || seen.text == point::too_late)
                made_.waits_no_more(from.name_, at);
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

void director::settle(const process& who) {
    const auto limit = boot_clock::now() + ttl_ / 4;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        while (nodes_[i].truth && !is_settled(i, who) && boot_clock::now() < limit) read_reports(look_gap);
    }
}

bool director::is_settled(std::size_t number, const process& who) {
    const auto& known = nodes_[number].identity;
    const auto now = nodes_[number].truth->look(key).identity;
    if (who.stands_at_ == point::before_retry) return now.empty() || now == known;
    if (where_ != kept::on_many) return true;
    if (who.stands_at_ == point::in_cs)
        return !now.empty() || std::ranges::count(who.cut_off_from_, static_cast<int>(number) + 1) > 0;
    if (who.stands_at_ == point::done)
        return now.empty() || (now == known && made_.owner_at(number) != who.name_);
    return true;
}

void director::look(std::optional<boot_clock::time_point> changed) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) look_at(i, changed);
}

std::string director::owner_of(const std::string& identity) const {
    // Processes that the key names. Two may have the same name, which is a flaw of its own.
    std::vector<const process*> named;
    std::vector<const process*> under_way;
    for (const auto& one : processes_) {
        if (identity.find(one.owner_) != identity.npos) named.push_back(&one);
        if (one.stands_at_.empty() && !one.ended_) under_way.push_back(&one);
    }
    if (named.size() == 1) return named.front()->name_;
    return under_way.empty() ? running_ : std::string{};
}

void director::look_at(std::size_t number, std::optional<boot_clock::time_point> changed) {
    auto& one = nodes_[number];
    const auto before = boot_clock::now();
    const auto seen = one.truth ? one.truth->look(key) : stored_lock{};  // nobody: the server is dead
    const auto after = boot_clock::now();
    if (seen.identity.empty()) {
        // The server's TTL dates the end better than our look, which came later.
        const auto gone = changed.value_or(after);
        made_.owned_by(number, "", since_start(one.ends ? std::min(gone, *one.ends) : gone));
        one.ends.reset();
        one.identity.clear();
        return;
    }
    if (seen.identity != one.identity) {
        const auto who = owner_of(seen.identity);
        if (who.empty()) return;  // the new owner has not reported yet
        made_.owned_by(number, who, since_start(changed.value_or(before)));
        one.identity = seen.identity;
    }
    one.ends = seen.left ? std::optional{after + *seen.left} : std::nullopt;
}

}  // namespace holdfast::lab
