#include "backends/postgres/notifications.hpp"

#include "backends/sql/dialect.hpp"

#include <holdfast/error.hpp>

#include <utility>

namespace holdfast::postgres_backend {

using sql_backend::failure;
using sql_backend::outcome;

notifications::notifications(io::reactor& reactor, const session_options& how, handlers to)
    : reactor_(reactor), make_(maker_of(how)), answer_timeout_(how.answer_timeout), to_(std::move(to)) {}

notifications::~notifications() { close(); }

void notifications::post(std::function<void()> task) {
    reactor_.post([task = std::move(task), weak = std::weak_ptr(alive_)] {
        if (const auto alive = weak.lock()) task();
    });
}

notifications::state notifications::open() {
    if (!asked_for_.exchange(true)) {
        state_ = state::opening;
        post([this] { connect(); });
    }
    return state_;
}

void notifications::connect() {
    again_ = {};
    connecting_ = std::make_unique<sql_backend::connector>(
        reactor_, make_, [this](sql_backend::connector::result r) { on_made(std::move(r)); });
}

void notifications::connect_in(std::chrono::nanoseconds pause) {
    if (again_.serial != 0 || connecting_) return;
    again_ = reactor_.at(boot_clock::now() + pause, [this, weak = std::weak_ptr(alive_)] {
        if (const auto alive = weak.lock()) connect();
    });
}

void notifications::on_made(sql_backend::connector::result result) {
    connecting_.reset();
    if (const auto* const why = std::get_if<failure>(&result)) {
        const bool refused = sql_backend::needs_operator(why->code);
        connect_in(pauses_.next(refused));
        // Waiters that are not served by messages poll.
        if (refused && state_.exchange(state::refused) != state::refused)
            to_.on_change(state::refused, why->in_one());
        return;
    }
    pauses_.reset();
    open_ = std::get<std::shared_ptr<sql_backend::connection>>(std::move(result));
    open_->start(reactor_, sockets_,
                 {[this](const failure& why) { on_lost(why); },
                  [this](std::string_view text) { to_.on_message(text); },
                  {}});
    session_ = open_->server().session;
    for (const auto& [channel, listening] : channels_) send_listen(channel);
    state_ = state::open;
    to_.on_change(state::open, {});
}

void notifications::on_lost(const failure& why) {
    open_.reset();
    session_ = 0;
    state_ = state::opening;
    connect_in(pauses_.next(false));
    to_.on_change(state::opening, why.in_one());
}

void notifications::listen(const std::string& channel, std::function<void()> listening) {
    post([this, channel, listening = std::move(listening)] {
        channels_.insert_or_assign(channel, listening);
        if (open_) send_listen(channel);
    });
}

// The shared lock tells those who send that somebody waits for it.
void notifications::send_listen(const std::string& channel) {
    const auto n = std::to_string(sql_backend::number_of(channel));
    send_text("LISTEN \"" + channel + '"', {});
    send_text("SELECT pg_advisory_lock_shared(" + n + ")", [this, channel](const outcome& result) {
        const auto found = channels_.find(channel);
        if (std::holds_alternative<sql_backend::rows>(result) && found != channels_.end()) found->second();
    });
}

void notifications::stop_listening(const std::string& channel) {
    post([this, channel] {
        if (channels_.erase(channel) == 0 || !open_) return;
        send_text("UNLISTEN \"" + channel + '"', {});
        send_text("SELECT pg_advisory_unlock_shared(" + std::to_string(sql_backend::number_of(channel)) + ")",
                  {});
    });
}

void notifications::send_text(std::string sql, sql_backend::handler<outcome> done) {
    if (!done) done = [](const outcome&) {};
    sql_backend::request r{{}, boot_clock::now() + answer_timeout_, std::move(done), std::move(sql)};
    if (!open_->send(r)) return;  // a lost connection is reported, and all is sent again
}

void notifications::close() {
    reactor_.run_and_wait([this] {
        if (!alive_) return;
        alive_.reset();
        connecting_.reset();
        if (again_.serial != 0) (void)reactor_.cancel(again_);
        channels_.clear();
        if (open_) open_->close({make_error_code(errc::closed), {}, {}});
        open_.reset();
        session_ = 0;
    });
}

}  // namespace holdfast::postgres_backend
