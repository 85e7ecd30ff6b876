#include "nacos/config_watch.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::nacos {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds read_every{5'000};  // without long polls
constexpr milliseconds first_back_off{500};
constexpr milliseconds longest_back_off{30'000};
// 100 ms, doubled five times: servers show a text at the latest half a second after they announce it.
constexpr milliseconds first_repeat{100};
constexpr unsigned most_repeats = 5;
// An empty answer that comes sooner is none of a server that holds questions.
constexpr milliseconds held_at_least{1'000};

boot_clock::duration share(boot_clock::duration of, double factor) {
    return std::chrono::duration_cast<boot_clock::duration>(
        std::chrono::duration<double, boot_clock::period>{static_cast<double>(of.count()) * factor});
}

std::string status_of(int status) { return " (HTTP " + std::to_string(status) + ')'; }

interface_version other(interface_version one) {
    return one == interface_version::v1 ? interface_version::v3 : interface_version::v1;
}

}  // namespace

config_watch::step config_watch::begin(time_point now) {
    now_ = now;
    return read();
}

config_watch::step config_watch::on_pause_over(time_point now) {
    now_ = now;
    return after_pause_ == state::polls ? poll() : read();
}

config_watch::step config_watch::on_reply(reply got, time_point now) {
    now_ = now;
    if (const auto* const none = std::get_if<no_answer>(&got)) {
        if (state_ == state::polls) return poll_failed();
        return failed(none->why);
    }
    auto& is = std::get<answer>(got);
    switch (state_) {
        case state::logs_in: return on_login(is);
        case state::reads: return on_read(std::move(is));
        case state::probes: return on_probe(is);
        case state::polls: return on_poll(is);
        case state::pauses: break;  // nothing was asked
    }
    return read();
}

config_watch::step config_watch::on_login(const answer& got) {
    if (auto is = read_login(got)) {
        token_ = std::move(is->token);
        token_ages_at_ = now_ + share(is->lives, 0.8);
        has_just_logged_in_ = true;
        has_tried_other_login_ = false;
        return read();
    }
    // Servers refuse a wrong password by 403 or 500, and an interface that they lack perhaps also by 403.
    login_ = other(login_);
    if (!std::exchange(has_tried_other_login_, true)) return log_in();
    has_tried_other_login_ = false;
    return failed("the login fails: are user and password right?" + status_of(got.status));
}

config_watch::step config_watch::on_read(answer got) {
    const int status = got.status;
    if (is_denied(status)) return on_denied(status);
    if (status == 404 && interface_ == interface_version::v1) {
        // It is missing, or the server no longer has this interface: no text tells.
        if (is_proven_) return on_no_text();
        return send(state::probes, probe_request(of_, token_));
    }
    if (is_gone(status)) return on_gone();
    if (status != 200) return failed("it answers with an error" + status_of(status));
    auto is = read_configuration(std::move(got), interface_);
    if (auto* const here = std::get_if<present>(&is)) return on_text(std::move(*here));
    if (std::holds_alternative<missing>(is)) return on_no_text();
    return failed(std::get<no_configuration>(is).why);
}

config_watch::step config_watch::on_probe(const answer& got) {
    if (is_denied(got.status)) return on_denied(got.status);
    if (is_gone(got.status)) return on_gone();
    if (got.status != 200) return failed("it answers with an error" + status_of(got.status));
    return on_no_text();
}

config_watch::step config_watch::on_poll(const answer& got) {
    if (is_denied(got.status)) {
        token_.clear();
        ++polls_failed_;  // a right to read that is none to poll must not make a loop without a pause
        return read();
    }
    if (is_gone(got.status)) return on_gone();
    if (got.status != 200) return poll_failed();
    switch (read_poll(of_, got)) {
        case poll_answer::changed:
            polls_failed_ = 0;
            is_due_ = true;
            repeats_ = 0;
            return read();
        case poll_answer::nothing_new:
            if (now_ - sent_at_ < held_at_least) return pause_for(back_off(polls_failed_++), state::polls);
            polls_failed_ = 0;
            return poll();
        case poll_answer::foreign: break;
    }
    return poll_failed();
}

config_watch::step config_watch::on_text(present got) {
    if (is_due_ && got.md5 == md5_ && repeats_ < most_repeats)
        return pause_for(first_repeat * (1U << repeats_++), state::reads);
    md5_ = std::move(got.md5);
    return works(text{std::move(got.text)});
}

config_watch::step config_watch::on_no_text() {
    // So a text that replaces another one is not taken for deleted.
    if (!md5_.empty() && repeats_ < most_repeats)
        return pause_for(first_repeat * (1U << repeats_++), state::reads);
    md5_.clear();
    return works(no_text{});
}

// The present request proves that the server lacks the interface.
config_watch::step config_watch::on_gone() {
    if (interface_ == interface_version::v1) {
        interface_ = interface_version::v3;
        is_proven_ = false;
        return read();
    }
    return failed("it has none of the interfaces that this client knows");
}

config_watch::step config_watch::on_denied(int status) {
    if (of_.user.empty()) return failed("it asks for a user and a password" + status_of(status));
    // The token may have been withdrawn: log in once more.
    token_.clear();
    if (!has_just_logged_in_) return log_in();
    has_just_logged_in_ = false;
    return failed("the user may not read the configuration" + status_of(status));
}

config_watch::step config_watch::works(news learned) {
    is_proven_ = true;
    is_due_ = false;
    repeats_ = 0;
    servers_failed_ = 0;
    rounds_failed_ = 0;
    has_just_logged_in_ = false;
    const bool polls = interface_ == interface_version::v1;
    // After a poll that failed the next one waits: a proxy may cut all of them.
    auto next = !polls              ? pause_for(share(read_every, 0.8 + 0.4 * jitter_()), state::reads)
                : polls_failed_ > 1 ? pause_for(back_off(polls_failed_ - 2), state::polls)
                                    : poll();
    const bool has_text = std::holds_alternative<text>(learned);
    next.learned.push_back(std::move(learned));
    if (polls) {
        has_told_no_long_poll_ = false;
    } else if (has_text && !std::exchange(has_told_no_long_poll_, true)) {
        next.learned.emplace_back(no_long_poll{});
    }
    return next;
}

config_watch::step config_watch::failed(const std::string& why) {
    const auto server = of_.servers[server_];
    use_next_server();
    repeats_ = 0;
    if (++servers_failed_ < of_.servers.size()) return read();
    servers_failed_ = 0;
    auto next = pause_for(back_off(rounds_failed_++), state::reads);
    next.learned.emplace_back(unreachable{server + ": " + why});
    return next;
}

config_watch::step config_watch::poll_failed() {
    ++polls_failed_;
    use_next_server();
    return read();
}

// Another server may have another version.
void config_watch::use_next_server() {
    server_ = (server_ + 1) % of_.servers.size();
    interface_ = interface_version::v1;
    is_proven_ = false;
}

config_watch::step config_watch::read() {
    if (!of_.user.empty() && (token_.empty() || now_ >= token_ages_at_)) return log_in();
    return send(state::reads, read_request(of_, interface_, token_));
}

config_watch::step config_watch::poll() {
    if (!of_.user.empty() && now_ >= token_ages_at_) return log_in();
    return send(state::polls, long_poll_request(of_, md5_, token_));
}

config_watch::step config_watch::log_in() { return send(state::logs_in, login_request(of_, login_)); }

config_watch::step config_watch::send(state next, request r) {
    state_ = next;
    sent_at_ = now_;
    r.server = server_;
    return {.next = std::move(r)};
}

config_watch::step config_watch::pause_for(boot_clock::duration time, state then) {
    state_ = state::pauses;
    after_pause_ = then;
    return {.next = pause{now_ + time}};
}

boot_clock::duration config_watch::back_off(unsigned failures) const {
    const auto longest = std::min(longest_back_off, first_back_off * (1U << std::min(failures, 10U)));
    return std::max<boot_clock::duration>(first_back_off, share(longest, 1.0 - 0.3 * jitter_()));
}

}  // namespace holdfast::nacos
