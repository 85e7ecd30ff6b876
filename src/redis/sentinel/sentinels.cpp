#include "redis/sentinel/sentinels.hpp"

#include "base/text.hpp"
#include "redis/protocol/errors.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace holdfast::redis {

namespace {

constexpr std::string_view no_such_master = "No such master";

template <class Number>
std::optional<Number> number_in(std::string_view text) {
    Number n{};
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (ec != std::errc{} || end != text.data() + text.size()) return {};
    return n;
}

sentinel_reply without_answer(const fault& why) {
    const bool lasting = why.code == errc::no_permission || why.code == errc::invalid_argument;
    return {lasting ? sentinel_reply::what::refuses : sentinel_reply::what::silent, {}, 0, why};
}

sentinel_reply useless(std::string text) {
    return {sentinel_reply::what::silent, {}, 0, {errc::bad_reply, std::move(text)}};
}

// Most likely a server that keeps locks, with the wrong scheme in the URL.
sentinel_reply of_no_sentinel(const node_config& master, const host_port& at) {
    const std::string scheme = master.tls ? "rediss" : "redis";
    const auto where = "://" + address_text(at);
    return {sentinel_reply::what::no_sentinel,
            {},
            0,
            {errc::invalid_argument, "if it keeps the locks itself write " + scheme + where + ", or " +
                                         scheme + "+cluster" + where + " if it is one of a cluster"}};
}

sentinel_reply of_error(std::string_view text, const node_config& master, const host_port& at) {
    if (is_unknown_command(text)) return of_no_sentinel(master, at);
    if (text.find(no_such_master) != std::string_view::npos) return {sentinel_reply::what::unknown_name};
    return without_answer({classify(text), base::printable(text)});
}

// SENTINEL MASTER: alternating names and values.
std::optional<std::uint64_t> epoch_in(const reply& r) {
    const auto items = r.items();
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
        if (items[i].text() == "config-epoch") return number_in<std::uint64_t>(items[i + 1].text());
    return {};
}

// SENTINEL GET-MASTER-ADDR-BY-NAME: host and port.
std::optional<host_port> place_in(const reply& r) {
    const auto items = r.items();
    if (items.size() != 2) return {};
    host_port place{items[0].text(), number_in<std::uint16_t>(items[1].text()).value_or(0)};
    // The longest host name, also in TLS.
    if (place.port == 0 || place.host.empty() || place.host.size() > 255) return {};
    return place;
}

}  // namespace

node_config config_of_sentinel(const node_config& master, const host_port& at) {
    auto c = config_at(master, at);
    c.user = master.sentinels->user;
    c.password = master.sentinels->password;
    c.ask_login = nullptr;
    c.sentinel = true;
    c.db = 0;
    c.connections = 1;
    c.connect_timeout = std::min(c.connect_timeout / 2, sentinels::patience);
    c.command_timeout = std::min(c.command_timeout, sentinels::patience);
    return c;
}

std::shared_ptr<sentinels> sentinels::make(const node_config& master, io::reactor& r,
                                           const connect_to& connect) {
    std::shared_ptr<sentinels> all(new sentinels(master, r));
    // Not on the reactor thread, so that `abandon` in a forked child finds them.
    for (std::size_t i = 0; i < all->sentinels_.size(); ++i) {
        all->sentinels_[i].server = connect(config_of_sentinel(master, master.sentinels->at[i]),
                                            [weak = std::weak_ptr{all}, i](const node_event& e) {
                                                if (const auto self = weak.lock()) self->on_event(i, e);
                                            });
        all->sentinels_[i].switches = all->sentinels_[i].server->subscribe(
            "+switch-master", [weak = std::weak_ptr{all}, i](const sub_event& e) {
                // `subscribed` counts as a message, because one may have been lost before it.
                const bool news = e.kind == sub_event::what::message || e.kind == sub_event::what::subscribed;
                if (const auto self = weak.lock(); self && news) self->on_news_from(i);
            });
    }
    r.post([weak = std::weak_ptr{all}] {
        if (const auto self = weak.lock()) self->begin();
    });
    return all;
}

void sentinels::begin() {
    begun_ = true;
    open_round();
}

sentinels::sentinels(const node_config& master, io::reactor& r)
    : master_(master),
      patience_(std::min(master.connect_timeout / 2, patience)),
      reactor_(r),
      majority_(master.sentinels->master, master.sentinels->at),
      sentinels_(master.sentinels->at.size()) {}

void sentinels::where(std::function<void(const answer&)> done) {
    waiting_.push_back(std::move(done));
    if (!round_open_) open_round();
}

std::shared_ptr<void> sentinels::follow(std::function<void(const host_port&)> moved) {
    auto kept = std::make_shared<std::function<void(const host_port&)>>(std::move(moved));
    std::erase_if(followers_, [](const auto& one) { return one.expired(); });
    followers_.push_back(kept);
    return kept;
}

void sentinels::open_round() {
    if (!begun_ || closed_) return;
    round_open_ = true;
    if (period_timer_.serial != 0) reactor_.cancel(std::exchange(period_timer_, {}));
    majority_.await();
    for (std::size_t i = 0; i < sentinels_.size(); ++i) ask(i);
}

// Sentinel `i` may know more than when it was last asked; if so, others may too.
void sentinels::on_news_from(std::size_t i) {
    if (round_open_) {
        ask(i);
    } else {
        open_round();
    }
}

// Asks for the epoch first, because the first answer may be older than the second. The new address with an
// old epoch does no harm, but the old address with a new epoch would win.
void sentinels::ask(std::size_t i) {
    auto& w = sentinels_[i];
    const auto asked = ++w.asked;
    majority_.await(i);
    decide_soon();
    // It is known to be down; once connected it is asked again.
    if (w.down) return majority_.take(i, without_answer(*w.down), boot_clock::now());
    const auto epoch = std::make_shared<std::optional<outcome>>();
    const auto deadline = boot_clock::now() + patience_;
    const std::string_view name = master_.sentinels->master;
    w.server->command({"SENTINEL", "MASTER", name}, deadline,
                      [epoch](outcome&& o) { *epoch = std::move(o); });
    w.server->command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name}, deadline,
                      [weak = weak_from_this(), i, asked, epoch](outcome&& o) {
                          const auto self = weak.lock();
                          if (!self) return;
                          if (!*epoch) return self->on_answer(i, asked, useless("it answers out of order"));
                          for (const auto* one : {&**epoch, &o}) {
                              if (const auto* no = std::get_if<not_sent>(one))
                                  return self->on_answer(i, asked, without_answer(*no));
                              if (const auto* no = std::get_if<no_answer>(one))
                                  return self->on_answer(i, asked, without_answer(*no));
                              if (const auto& r = std::get<reply>(*one); r.is_error())
                                  return self->on_answer(
                                      i, asked,
                                      of_error(r.text(), self->master_, self->master_.sentinels->at[i]));
                          }
                          const auto number = epoch_in(std::get<reply>(**epoch));
                          const auto place = place_in(std::get<reply>(o));
                          if (!number || !place)
                              return self->on_answer(i, asked, useless("its answer names no address"));
                          self->on_answer(i, asked, {sentinel_reply::what::names, *place, *number, {}});
                      });
}

void sentinels::on_answer(std::size_t i, unsigned asked, sentinel_reply t) {
    if (asked != sentinels_[i].asked) return;
    majority_.take(i, std::move(t), boot_clock::now());
    decide_soon();
}

// Not inside the caller, and once for answers that come together.
void sentinels::decide_soon() {
    if (std::exchange(decide_posted_, true)) return;
    reactor_.post([weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self) return;
        self->decide_posted_ = false;
        self->decide();
    });
}

void sentinels::decide() {
    if (closed_) return;
    if (grace_timer_.serial != 0) reactor_.cancel(std::exchange(grace_timer_, {}));
    const auto decision = majority_.decide(boot_clock::now());
    if (decision.kind == master_majority::decision::what::pending) {
        grace_timer_ = reactor_.at(decision.look_again, [weak = weak_from_this()] {
            const auto self = weak.lock();
            if (!self) return;
            self->grace_timer_ = {};
            self->decide();
        });
        return;
    }
    // Answers after the end of a round count too, and may still change the decision.
    round_open_ = false;
    if (period_timer_.serial == 0) {
        period_timer_ = reactor_.at(boot_clock::now() + period, [weak = weak_from_this()] {
            const auto self = weak.lock();
            if (!self) return;
            self->period_timer_ = {};
            if (!self->round_open_) self->open_round();
        });
    }
    const bool agreed = decision.kind == master_majority::decision::what::agreed;
    const bool moved = agreed && place_.has_value() && *place_ != decision.master;
    if (agreed) place_ = decision.master;
    const answer result = agreed ? answer{decision.master} : answer{decision.why};
    const auto waiting = std::exchange(waiting_, {});
    for (const auto& done : waiting) done(result);
    if (!moved) return;
    const auto followers = followers_;
    for (const auto& one : followers)
        if (const auto moved_to = one.lock()) (*moved_to)(*place_);
}

void sentinels::on_event(std::size_t i, const node_event& e) {
    auto& w = sentinels_[i];
    if (e.kind == node_event::what::up) {
        w.down.reset();
        return on_news_from(i);
    }
    w.down = e.why;
    // Callers that wait for its answer need not wait for the time-out.
    ++w.asked;
    majority_.take(i, without_answer(e.why), boot_clock::now());
    decide_soon();
}

void sentinels::close() {
    const auto end = [this] {
        closed_ = true;
        if (grace_timer_.serial != 0) reactor_.cancel(grace_timer_);
        if (period_timer_.serial != 0) reactor_.cancel(period_timer_);
        waiting_.clear();
        followers_.clear();
        for (auto& w : sentinels_) {
            w.switches.reset();
            w.server.reset();
        }
    };
    reactor_.run_and_wait(end);
}

void sentinels::abandon() noexcept {
    for (auto& w : sentinels_)
        if (w.server) w.server->abandon();
}

}  // namespace holdfast::redis
