#include "backends/mariadb/presence.hpp"

#include "backends/mariadb/connection.hpp"
#include "backends/mariadb/schema.hpp"

#include <holdfast/error.hpp>

#include <unistd.h>

#include <cstdint>
#include <utility>

namespace holdfast::mariadb_backend {

using sql_backend::failure;
using sql_backend::outcome;

namespace {

// A machine that is gone is noticed after both: the server ends a session that does not ask again.
constexpr std::chrono::seconds one_sleep{15};
constexpr std::chrono::seconds silence{15};

session_options as_presence(session_options how) {
    how.silence = silence;
    // A session that only sleeps answers late.
    how.answer_timeout += one_sleep;
    return how;
}

}  // namespace

presence::presence(io::reactor& reactor, session_options how, std::string label, handlers to)
    : reactor_(reactor),
      make_(maker_of(as_presence(std::move(how)))),
      label_(std::move(label)),
      to_(std::move(to)) {}

presence::~presence() { close(); }

presence::state presence::open() {
    if (!asked_for_.exchange(true)) {
        state_ = state::opening;
        reactor_.post([this, weak = std::weak_ptr(alive_)] {
            if (const auto alive = weak.lock()) connect();
        });
    }
    return state_;
}

void presence::connect() {
    again_ = {};
    connecting_ = std::make_unique<sql_backend::connector>(
        reactor_, make_, [this](sql_backend::connector::result r) { on_made(std::move(r)); });
}

void presence::connect_in(std::chrono::nanoseconds pause) {
    if (again_.serial != 0 || connecting_) return;
    again_ = reactor_.at(boot_clock::now() + pause, [this, weak = std::weak_ptr(alive_)] {
        if (const auto alive = weak.lock()) connect();
    });
}

void presence::on_made(sql_backend::connector::result result) {
    connecting_.reset();
    if (const auto* const why = std::get_if<failure>(&result)) {
        settle();
        return connect_in(pauses_.next(sql_backend::needs_operator(why->code)));
    }
    pauses_.reset();
    open_ = std::get<std::shared_ptr<sql_backend::connection>>(std::move(result));
    open_->start(reactor_, sockets_, {[this](const failure& why) { on_lost(why); }, {}, {}, {}});
    session_ = open_->server().session;
    state_ = state::silent;
    sleep();
    settle();
    to_.on_change(state::silent, {});
}

void presence::settle() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto n = ::write(settled_->get(), &one, sizeof one);
}

// Ends when it is over, or when somebody cancels it; then it sleeps again.
void presence::sleep() {
    sql_backend::request r{{},
                           boot_clock::now() + one_sleep,
                           [this, weak = std::weak_ptr(alive_)](const outcome&) {
                               reactor_.post([this, weak] {
                                   const auto alive = weak.lock();
                                   if (!alive || !open_) return;
                                   sleep();  // at once: a ring meanwhile is lost
                                   to_.on_ring();
                               });
                           },
                           sleep_of(label_, one_sleep)};
    if (!open_->send(r)) return;  // a lost connection is reported, and another one sleeps
}

void presence::on_lost(const failure& why) {
    open_.reset();
    session_ = 0;
    state_ = state::opening;
    connect_in(pauses_.next(false));
    to_.on_change(state::opening, why.in_one());
}

void presence::close() {
    reactor_.run_and_wait([this] {
        if (!alive_) return;
        alive_.reset();
        connecting_.reset();
        if (again_.serial != 0) (void)reactor_.cancel(again_);
        if (open_) open_->close({make_error_code(errc::closed), {}, {}});
        open_.reset();
        session_ = 0;
    });
}

}  // namespace holdfast::mariadb_backend
