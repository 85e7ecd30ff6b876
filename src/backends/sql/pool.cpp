#include "backends/sql/pool.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::sql_backend {

namespace {

failure closing() { return {make_error_code(errc::closed), {}, {}}; }

}  // namespace

pool::pool(io::reactor& reactor, pool_settings how, link_handlers to)
    : reactor_(reactor), how_(std::move(how)), to_(std::move(to)) {
    reactor_.run_and_wait([this] { connect(); });
}

pool::~pool() { close(); }

void pool::run(statement what, time_point deadline, handler<outcome> done) {
    request r{std::move(what), deadline, std::move(done)};
    failure why;
    {
        const base::guard lock(mutex_);
        switch (state_) {
            case state::up:
                if (boot_clock::now() >= deadline)
                    why = {make_error_code(errc::unavailable), "no time was left to send it"};
                else if (send(r))
                    return;
                else
                    return wait(std::move(r));
                break;
            case state::down: return wait(std::move(r));
            case state::refused: why = last_; break;
            case state::closed: why = closing(); break;
        }
    }
    fail_soon(std::move(r), std::move(why));
}

void pool::fail_soon(request r, failure why) {
    reactor_.post([done = std::make_shared<request>(std::move(r)), why = std::move(why)] {
        done->done(outcome{fault{fault::effect::none, why}});
    });
}

// To the connection with the fewest statements; makes another one if that has to work off many.
bool pool::send(request& r) {
    std::size_t fewest = 0;
    connection* best = nullptr;
    for (const auto& c : all_) {
        const auto n = c->in_flight();
        if (best == nullptr || n < fewest) {
            best = c.get();
            fewest = n;
        }
        if (n == 0) break;
    }
    if (best == nullptr) return false;
    if (fewest >= how_.many && all_.size() < most && !growing_ && boot_clock::now() >= grow_again_) {
        reactor_.post([this, weak = life_] {
            if (const auto alive = weak.lock(); alive && !connecting_ && again_.serial == 0) connect();
        });
        growing_ = true;
    }
    arm_tick();  // what needs memory comes before the statement is sent
    bool is_sent = best->send(r);
    for (const auto& c : all_) is_sent = is_sent || (c.get() != best && c->send(r));
    if (!is_sent) return false;
    sent_.fetch_add(1, std::memory_order_relaxed);
    find_reader();
    return true;
}

void pool::wait(request r) {
    if (expiry_.serial == 0 || expiry_.when > r.deadline) {
        const auto earlier = reactor_.at(r.deadline, [this, weak = life_] {
            if (const auto alive = weak.lock()) on_expiry();
        });
        if (expiry_.serial != 0) (void)reactor_.cancel(expiry_);
        expiry_ = earlier;
    }
    waiting_.push_back(std::move(r));
}

void pool::on_expiry() {
    std::vector<request> over;
    failure why;
    {
        const base::guard lock(mutex_);
        expiry_ = {};
        const auto now = boot_clock::now();
        std::vector<request> left;
        for (auto& r : waiting_) (r.deadline <= now ? over : left).push_back(std::move(r));
        waiting_.clear();
        for (auto& r : left) wait(std::move(r));
        why = last_.code ? last_
                         : failure{make_error_code(errc::unavailable), "no connection to " + how_.where};
    }
    end_waiting(over, why);
}

void pool::end_waiting(std::vector<request>& all, const failure& why) {
    for (auto& r : all) r.done(outcome{fault{fault::effect::none, why}});
}

// --- connections come and go ------------------------------------------------------------------------

void pool::connect() {
    again_ = {};
    connecting_ = std::make_unique<connector>(reactor_, how_.make,
                                              [this](connector::result r) { on_made(std::move(r)); });
}

void pool::connect_in(std::chrono::nanoseconds pause) {
    if (again_.serial != 0 || connecting_) return;
    again_ = reactor_.at(boot_clock::now() + pause, [this, weak = life_] {
        if (const auto alive = weak.lock()) connect();
    });
}

void pool::on_made(connector::result result) {
    connecting_.reset();
    if (const auto* const why = std::get_if<failure>(&result)) {
        const bool refused = needs_operator(why->code);
        std::vector<request> ended;
        bool none = false;
        {
            const base::guard lock(mutex_);
            growing_ = false;
            grow_again_ = boot_clock::now() + std::chrono::seconds{5};
            none = all_.empty();
            if (none) {
                last_ = *why;
                state_ = refused ? state::refused : state::down;
                if (refused) ended.swap(waiting_);
            }
        }
        if (!none) return;  // those that there are must do
        connect_in(pauses_.next(refused));
        end_waiting(ended, *why);
        if (!std::exchange(reported_down_, true)) to_.on_down(*why);
        return;
    }
    pauses_.reset();
    auto made = std::get<std::shared_ptr<connection>>(std::move(result));
    made->start(reactor_, sockets_,
                {[this, which = made.get()](const failure& why) { on_lost(which, why); },
                 {},
                 [this](std::chrono::nanoseconds took) {
                     const auto old = round_trip_.load(std::memory_order_relaxed);
                     round_trip_.store(old == 0 ? took.count() : old + (took.count() - old) / 8,
                                       std::memory_order_relaxed);
                 },
                 [this](connection& one) { return reactor_reads(one); }});
    to_.on_session(made->server());
    bool first = false;
    std::vector<request> late;
    {
        const base::guard lock(mutex_);
        growing_ = false;
        first = all_.empty();
        all_.push_back(made);
        if (role_ == role::reactor) made->let_reactor_read(true);
        if (role_ == role::caller) poke_caller();  // it does not know this connection
        state_ = state::up;
        last_ = {};
        std::vector<request> waited;
        waited.swap(waiting_);
        const auto now = boot_clock::now();
        for (auto& r : waited) {
            if (r.deadline <= now)
                late.push_back(std::move(r));
            else if (!send(r))
                wait(std::move(r));
        }
    }
    end_waiting(late, {make_error_code(errc::unavailable), "no connection to " + how_.where + " in time"});
    if (!first) return;
    reported_down_ = false;
    const bool restarted = !run_id_.empty() && run_id_ != made->server().run_id;
    run_id_ = made->server().run_id;
    to_.on_up(made->server(), restarted);
}

void pool::on_lost(const connection* which, const failure& why) {
    bool last = false;
    {
        const base::guard lock(mutex_);
        std::erase_if(all_, [&](const auto& c) { return c.get() == which; });
        last = all_.empty() && state_ == state::up;
        if (last) {
            state_ = state::down;
            last_ = why;
        }
    }
    if (!last) return;
    connect_in(pauses_.next(false));
    if (!std::exchange(reported_down_, true)) to_.on_down(why);
}

void pool::close() {
    reactor_.run_and_wait([this] {
        if (!alive_) return;
        alive_.reset();
        connecting_.reset();
        if (again_.serial != 0) (void)reactor_.cancel(again_);
        std::vector<std::shared_ptr<connection>> open;
        std::vector<request> ended;
        {
            const base::guard lock(mutex_);
            state_ = state::closed;
            open.swap(all_);
            ended.swap(waiting_);
            if (expiry_.serial != 0) (void)reactor_.cancel(expiry_);
        }
        for (const auto& c : open) c->close(closing());
        end_waiting(ended, closing());
    });
}

backend::traffic pool::statistics() const noexcept {
    return {sent_.load(std::memory_order_relaxed),
            std::chrono::nanoseconds{round_trip_.load(std::memory_order_relaxed)}};
}

}  // namespace holdfast::sql_backend
