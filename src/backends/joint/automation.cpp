#include "backends/joint/automation.hpp"

#include "base/clock.hpp"
#include "base/random.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace holdfast::joint_backend {

using backend::register_value;
using backend::result;

namespace {

using namespace std::chrono_literals;

// A client that stood still finds its open request too late; that alone is no outage.
constexpr unsigned failures_of_an_outage = 3;

boot_clock::duration at_random(milliseconds up_to) {
    return std::chrono::duration_cast<boot_clock::duration>(
        std::chrono::duration<double, std::milli>{static_cast<double>(up_to.count()) * base::jitter()});
}

}  // namespace

automation::automation(automation_tools with)
    : with_(std::move(with)),
      pause_(std::clamp(std::min(with_.mode_lease / 20, with_.down_for / 4), 20ms, 1'000ms)),
      report_every_(std::clamp(with_.mode_lease / 4, 100ms, 5'000ms)),
      levels_(with_.levels),
      health_(3 * report_every_),
      rule_(with_.levels, with_.healthy_for) {}

void automation::close() {
    closed_ = true;
    with_.reactor.cancel(timer_);
}

void automation::look_in(boot_clock::duration pause) {
    with_.reactor.post([self = shared_from_this(), pause] {
        if (self->closed_) return;
        self->with_.reactor.cancel(self->timer_);
        self->timer_ = self->with_.reactor.at(boot_clock::now() + pause, [self] { self->look(); });
    });
}

void automation::look() {
    if (closed_) return;
    look_in(pause_);
    const auto mode = with_.keeper->known();
    const auto now = boot_clock::now();
    const bool was_on = std::exchange(is_on_, mode && mode->is_automatic());
    if (!is_on_) return;
    if (!was_on) {
        begin_anew();
        health_ = health{3 * report_every_};
        // A command that only looks ends before that.
        exchange_at_ = now + report_every_ / 2 + at_random(report_every_);
    }
    if (is_wanted_) probe_all(now);
    exchange_reports(now);
    propose(now);
}

// What it has seen of the levels is old.
void automation::begin_anew() {
    is_wanted_ = reports_ = false;
    rule_.forget();
    for (auto& l : levels_) {
        l.has_worked = false;
        l.failures = 0;
    }
}

void automation::probe_all(time_point now) {
    for (std::size_t i = 0; i < levels_.size(); ++i) {
        if (std::exchange(levels_[i].is_asked, true)) continue;
        const auto patience = std::min(with_.answer_timeout, with_.down_for);
        with_.probe(i, now + patience, [weak = weak_from_this(), i](bool works) {
            if (const auto self = weak.lock(); self && !self->closed_) self->on_probed(i, works);
        });
    }
}

void automation::on_probed(std::size_t i, bool works) {
    auto& l = levels_[i];
    l.is_asked = false;
    if (works) {
        l.has_worked = true;
        l.failures = 0;
        return;
    }
    if (l.failures == 0) l.failing_since = boot_clock::now();
    ++l.failures;
}

bool automation::is_down(const a_level& l, time_point now) const {
    return l.failures >= failures_of_an_outage && now - l.failing_since >= with_.down_for;
}

needed_levels automation::down(time_point now) const {
    needed_levels all;
    for (std::size_t i = 0; i < levels_.size(); ++i)
        if (is_down(levels_[i], now)) all.push_back(i);
    return all;
}

bool automation::knows_all(time_point now) const {
    return std::ranges::all_of(levels_, [&](const auto& l) { return l.has_worked || is_down(l, now); });
}

// Reads the reports, and writes its own among them, if this client is one that reports.
void automation::exchange_reports(time_point now) {
    const bool has_news = reports_ && down(now) != told_down_;
    if (asks_ || (now < exchange_at_ && !has_news)) return;
    asks_ = true;
    // Those that do not report only look whether they are wanted.
    exchange_at_ = now + (is_wanted_ ? 3 * report_every_ / 4 + at_random(report_every_ / 4)
                                     : at_random(4 * report_every_));
    with_.in.read(with_.name, known_, now + with_.answer_timeout,
                  [self = shared_from_this()](result<register_value> got) {
                      self->with_.reactor.post([self, got = std::move(got)] { self->on_reports(got); });
                  });
}

void automation::on_reports(const result<register_value>& got) {
    asks_ = false;
    if (closed_ || !is_on_) return;
    const auto* const there = std::get_if<register_value>(&got);
    if (there == nullptr) return;
    known_ = *there;
    const auto now = boot_clock::now();
    health_.take(parse_health(there->text, with_.levels).value_or(health_reports{}), now);
    const health_report own{with_.client, with_.host, 1, down(now)};
    const auto all = health_.with(own, now);
    if (!all && is_wanted_) begin_anew();
    is_wanted_ = all.has_value();
    if (is_wanted_) exchange_at_ = std::min(exchange_at_, now + report_every_);
    reports_ = is_wanted_ && knows_all(now);
    if (!reports_) return rule_.forget();
    asks_ = true;
    auto text = to_text(*all);
    with_.in.change(with_.name, known_.version, text, now + with_.answer_timeout,
                    [self = shared_from_this(), down = own.down, text](result<register_value> after) {
                        self->with_.reactor.post([self, down, text, after = std::move(after)] {
                            self->on_reported(after, down, text);
                        });
                    });
}

void automation::on_reported(const result<register_value>& after, const needed_levels& down,
                             const std::string& text) {
    asks_ = false;
    const auto* const there = std::get_if<register_value>(&after);
    if (closed_ || !is_on_ || there == nullptr) return;
    const auto now = boot_clock::now();
    if (auto reports = parse_health(there->text, with_.levels)) health_.take(*std::move(reports), now);
    if (there->text == text)
        told_down_ = down;
    else  // another client was faster
        exchange_at_ = now + at_random(report_every_ / 4);
}

// Each client that reports proposes, and the arbiter lets one succeed.
void automation::propose(time_point now) {
    const auto mode = with_.keeper->known();
    if (proposes_ || !reports_ || !mode || !mode->is_automatic()) return;
    const auto live = health_.live(now);
    if (!live) return;
    const auto goal = rule_.decide(*mode, *live, now, base::wall_microseconds() / 1'000);
    if (!goal || with_.keeper->must_last() > 0ms) return;
    auto next = next_step(mode->needed, goal->level);
    if (!next) return;
    proposes_ = true;
    with_.change(*mode, *std::move(next),
                 {{.by = std::string{automatic_author}, .host = with_.host, .reason = goal->reason},
                  base::wall_microseconds() / 1'000},
                 now + with_.answer_timeout, [self = shared_from_this()] {
                     self->with_.reactor.post([self] { self->proposes_ = false; });
                 });
}

}  // namespace holdfast::joint_backend
