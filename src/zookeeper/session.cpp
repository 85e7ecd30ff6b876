#include "zookeeper/session.hpp"

#include "base/random.hpp"
#include "base/text.hpp"
#include "zookeeper/session_connecting.hpp"

#include <holdfast/error.hpp>

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <new>
#include <utility>

namespace holdfast::zookeeper {

namespace {

constexpr std::size_t largest_request = 1'000'000;  // the servers close the connection at 1 MiB

// The server is given up after this long without a byte, if an answer is due.
milliseconds longest_silence(const session_config& config, milliseconds timeout) {
    return std::min(timeout / 3, 2 * config.answer_timeout);
}

}  // namespace

session::session(session_config config, io::reactor& r, events on)
    : config_(std::move(config)),
      reactor_(r),
      on_(std::move(on)),
      timeout_(config_.timeout.count()),
      servers_(config_.servers),
      next_server_(static_cast<std::size_t>(base::jitter() * static_cast<double>(servers_.size()))) {}

session::~session() = default;

// --- requests -----------------------------------------------------------------------------------------

void session::submit(std::vector<call> calls, time_point deadline) {
    const auto many = calls.size();
    open_.fetch_add(many, std::memory_order_relaxed);
    try {
        take({std::move(calls), deadline});
    } catch (const std::bad_alloc&) {
        open_.fetch_sub(many, std::memory_order_relaxed);
        throw;
    }
}

void session::take(waiting&& w) {
    const bool fits = std::all_of(w.calls.begin(), w.calls.end(),
                                  [](const call& c) { return c.what.body.size() <= largest_request; });
    std::deque<waiting> not_sent;
    const char* why = "the client is closed";
    auto reason = make_error_code(errc::closed);
    {
        base::guard lock(mutex_);
        if (!fits) {
            why = "the request is larger than a server accepts";
            reason = make_error_code(errc::invalid_argument);
            not_sent.push_back(std::move(w));
        } else if (closing_ || phase_ == phase::closed) {
            not_sent.push_back(std::move(w));
        } else if (w.deadline <= boot_clock::now()) {
            why = "it was too late to send the request";
            reason = make_error_code(errc::unavailable);
            not_sent.push_back(std::move(w));
        } else if (phase_ == phase::attached && !broken_) {
            send(std::move(w));
            flush();
        } else {
            queue_.push_back(std::move(w));
            try {
                arm_deadlines();
                if (phase_ == phase::idle) reactor_.post(weakly(&session::seek));
            } catch (const std::bad_alloc&) {
                queue_.pop_back();
                throw;
            }
            if (phase_ == phase::idle) phase_ = phase::seeking;
        }
    }
    if (not_sent.empty()) return;
    // Never inside this call: the caller may hold a lock.
    reactor_.post([self = shared_from_this(),
                   all = std::make_shared<std::deque<waiting>>(std::move(not_sent)), why,
                   reason] { self->drop(std::move(*all), why, reason); });
}

void session::send(waiting&& w) {
    const auto now = boot_clock::now();
    const auto bytes_before = out_.size();
    const auto pending_before = pending_.size();
    try {
        for (auto& c : w.calls) {
            last_xid_ = last_xid_ == std::numeric_limits<std::int32_t>::max() ? 1 : last_xid_ + 1;
            out_ += frame(last_xid_, c.what);
            pending_.push_back({last_xid_, c.what.what, now,
                                c.what.what == op::sync ? proof_.start_sync() : std::nullopt,
                                std::move(c.done)});
        }
    } catch (const std::bad_alloc&) {
        // A part of a request would be read as another one, and its answer belong to nobody.
        out_.resize(bytes_before);
        while (pending_.size() > pending_before) pending_.pop_back();
        throw;
    }
    sent_.fetch_add(w.calls.size(), std::memory_order_relaxed);
    last_sent_ = now;
}

void session::flush() {
    while (!out_.empty() && !broken_) {
        const auto moved = stream_->send_some(out_);
        if (moved.state == io::progress::done) {
            out_.erase(0, moved.bytes);
            continue;
        }
        if (moved.state == io::progress::would_block) break;
        broken_ = true;
        try {
            reactor_.post([weak = weak_from_this(), why = moved.error.message()] {
                if (const auto self = weak.lock())
                    self->detach("the connection failed: " + why, errc::unavailable);
            });
        } catch (const std::bad_alloc&) {
            stream_->shut_down();  // which read() notices
        }
        return;
    }
    if (const bool room = !out_.empty(); room != wants_room_) {
        wants_room_ = room;
        reactor_.modify(stream_->fd(), room ? EPOLLIN | EPOLLOUT : EPOLLIN);
    }
}

void session::arm_deadlines() {
    const auto first = std::min_element(queue_.begin(), queue_.end(),
                                        [](const auto& a, const auto& b) { return a.deadline < b.deadline; });
    const auto next = first == queue_.end()
                          ? io::timer_id{}
                          : reactor_.at(first->deadline, weakly(&session::look_at_deadlines));
    // The former one runs unless there is another.
    if (deadline_timer_.serial != 0) reactor_.cancel(deadline_timer_);
    deadline_timer_ = next;
}

void session::look_at_deadlines() {
    std::deque<waiting> late;
    {
        base::guard lock(mutex_);
        deadline_timer_ = {};
        const auto now = boot_clock::now();
        const auto in_time = std::stable_partition(queue_.begin(), queue_.end(),
                                                   [now](const auto& w) { return w.deadline > now; });
        std::move(in_time, queue_.end(), std::back_inserter(late));
        queue_.erase(in_time, queue_.end());
        arm_deadlines();
    }
    drop(std::move(late), "no connection to a server", errc::unavailable);
}

void session::drop(std::deque<waiting>&& all, const std::string& why, std::error_code reason) {
    for (auto& w : all) {
        for (auto& c : w.calls) {
            open_.fetch_sub(1, std::memory_order_relaxed);
            c.done({.how = answer::outcome::not_sent, .reason = reason, .why = why});
        }
    }
}

// --- while attached -------------------------------------------------------------------------------------

void session::on_login(const logged_in& found) {
    const bool is_new = session_ == 0;
    const auto login_sent = connecting_->login_sent;
    const auto name = name_of(*connecting_->to);
    auto stream = std::exchange(connecting_->stream, nullptr);
    stop_connecting();
    session_ = found.session;
    password_ = found.password;
    served_ = false;
    // A server may give another timeout than the one before. The leader counts the new one from this login.
    const milliseconds given{found.timeout_ms};
    const bool less = !is_new && given < timeout();
    const auto timeout_now = is_new ? given : std::min(given, timeout());
    timeout_.store(timeout_now.count(), std::memory_order_relaxed);
    const std::chrono::duration<double, std::milli> safe{static_cast<double>(timeout_now.count()) *
                                                         (1 - config_.drift)};
    const auto lasts = std::chrono::duration_cast<boot_clock::duration>(safe) - config_.margin;
    {
        base::guard lock(mutex_);
        stream_ = std::move(stream);
        fd_for_abandon_ = stream_->fd();
        out_.clear();
        wants_room_ = broken_ = false;
        last_xid_ = 0;
        ping_sent_.reset();
        last_heard_ = last_sent_ = boot_clock::now();
        proof_.attached(login_sent, lasts, config_.tick);
        if (!config_.credentials.empty()) out_ += frame_of_auth("digest", config_.credentials);
    }
    on_.attached(
        {session_, is_new, timeout_now, name, less ? std::optional{login_sent + lasts} : std::nullopt});
    base::guard lock(mutex_);
    if (phase_ == phase::closed) return;
    phase_ = phase::attached;
    const auto now = boot_clock::now();
    for (auto& w : queue_) {
        // Those that are late are for look_at_deadlines().
        if (w.deadline > now) send(std::exchange(w, waiting{{}, w.deadline}));
    }
    std::erase_if(queue_, [](const waiting& w) { return w.calls.empty(); });
    arm_deadlines();
    flush();
    beat_timer_ = reactor_.at(now, weakly(&session::beat));
}

void session::beat() {
    constexpr milliseconds longest{1'000};
    constexpr milliseconds shortest{20};
    const auto now = boot_clock::now();
    const auto every = timeout();
    bool silent = false;
    beat_timer_ = {};
    {
        base::guard lock(mutex_);
        if (phase_ != phase::attached || broken_) return;
        auto since = time_point::max();
        if (!pending_.empty()) since = pending_.front().sent;
        if (ping_sent_) since = std::min(since, *ping_sent_);
        silent = since != time_point::max() &&
                 now > std::max(since, last_heard_) + longest_silence(config_, every);
        if (!silent && !ping_sent_ && now >= last_sent_ + every / 3) {
            out_ += frame_of_ping();
            ping_sent_ = last_sent_ = now;
            flush();
        }
    }
    if (silent) return detach("the server does not answer", errc::unavailable);
    beat_timer_ =
        reactor_.at(now + std::clamp<milliseconds>(every / 12, shortest, longest), weakly(&session::beat));
}

void session::read() {
    std::array<char, 16UL * 1024> bytes;
    for (int round = 0; round < 64; ++round) {
        std::shared_ptr<io::stream> from;
        {
            base::guard lock(mutex_);
            from = stream_;
        }
        if (!from) return;
        const auto moved = from->recv_some(bytes);
        if (moved.state == io::progress::would_block) return;
        if (moved.state == io::progress::closed)
            return detach("the server closed the connection", errc::unavailable);
        if (moved.state == io::progress::failed)
            return detach("the connection failed: " + moved.error.message(), errc::unavailable);
        frames_.feed({bytes.data(), moved.bytes});
        while (const auto content = frames_.next()) {
            on_frame(*content);
            base::guard lock(mutex_);
            if (stream_ != from) return;  // detached meanwhile
        }
        if (frames_.broken())
            return detach("the peer does not speak ZooKeeper's protocol", errc::unavailable);
    }
    // More is there: the descriptor stays readable, and other handlers have their turn.
}

void session::on_frame(std::string_view content) {
    const auto now = boot_clock::now();
    const auto r = parse_reply(content);
    if (!r) return detach("the peer does not speak ZooKeeper's protocol", errc::unavailable);
    if (r->zxid > 0) last_zxid_ = std::max(last_zxid_, r->zxid);
    std::optional<pending> of;
    std::optional<time_point> until;
    {
        base::guard lock(mutex_);
        last_heard_ = now;
        if (r->xid == xid_of_ping) {
            served_ = true;
            if (const auto sent = std::exchange(ping_sent_, std::nullopt)) proof_.answered(*sent, now);
            return;
        }
        if (r->xid >= 0 && !pending_.empty() && pending_.front().xid == r->xid) {
            of = std::move(pending_.front());
            pending_.pop_front();
            if (r->err == code::ok && is_write(of->what)) proof_.written(of->sent);
            if (r->err == code::ok && of->proves) until = proof_.proven(*of->proves);
            proof_.answered(of->sent, now);
        }
    }
    if (r->xid == xid_of_event) {
        if (const auto e = parse_event(r->body); e && e->type != event::what::none) on_.watched(*e);
        return;
    }
    if (r->xid == xid_of_auth) {
        if (r->err != code::ok) detach("the server refuses the user and password", errc::no_permission);
        return;
    }
    if (!of) return detach("the peer does not speak ZooKeeper's protocol", errc::unavailable);
    served_ = true;
    failed_rounds_ = 0;
    const auto took = (now - of->sent).count();
    const auto average = round_trip_.load(std::memory_order_relaxed);
    round_trip_.store(average == 0 ? took : average + (took - average) / 8, std::memory_order_relaxed);
    if (until) on_.proven(*until);
    open_.fetch_sub(1, std::memory_order_relaxed);
    of->done({.how = answer::outcome::answered, .err = r->err, .body = r->body, .session = session_});
}

void session::detach(const std::string& why, std::error_code reason) {
    std::deque<pending> unknown;
    std::shared_ptr<io::stream> old;
    bool seeks = false;
    {
        base::guard lock(mutex_);
        if (!stream_) return;
        old = std::exchange(stream_, nullptr);
        fd_for_abandon_ = -1;
        unknown.swap(pending_);
        out_.clear();
        proof_.detached();
        seeks = phase_ == phase::attached && !closing_;
        // A server that ends each connection after the login is not asked without a pause.
        if (seeks) phase_ = served_ ? phase::seeking : phase::pausing;
        if (closer_ != nullptr) closer_->unpark();
    }
    reactor_.unwatch(old->fd());
    if (beat_timer_.serial != 0) reactor_.cancel(beat_timer_);
    beat_timer_ = {};
    frames_.clear();
    attached_until_ = boot_clock::now();
    if (seeks) on_.detached(why, reason);
    for (auto& p : unknown) {
        open_.fetch_sub(1, std::memory_order_relaxed);
        p.done({.how = answer::outcome::unknown, .session = session_, .reason = reason, .why = why});
    }
    if (!seeks) return;
    if (served_) return seek();
    seek_later();
}

void session::expire(const std::string& why) {
    session_ = 0;
    password_.clear();
    on_.expired(why);
}

// --- the end --------------------------------------------------------------------------------------------

void session::close(time_point until) {
    base::parker me;
    {
        base::guard lock(mutex_);
        closing_ = true;
        if (phase_ == phase::attached && stream_ && !broken_) {
            closer_ = &me;
            pending_.push_back({++last_xid_, op::close, boot_clock::now(), {}, [](const answer&) {}});
            open_.fetch_add(1, std::memory_order_relaxed);
            out_ += frame(last_xid_, {op::close, {}});
            flush();
        }
    }
    const auto still_open = [&] {
        base::guard lock(mutex_);
        return closer_ != nullptr && stream_ != nullptr && !pending_.empty();
    };
    while (still_open() && boot_clock::now() < until) {
        me.park_until(until);
        me.consume();
    }
    reactor_.run_and_wait([this] {
        {
            base::guard lock(mutex_);
            phase_ = phase::closed;
            closer_ = nullptr;
            if (deadline_timer_.serial != 0) reactor_.cancel(deadline_timer_);
        }
        if (pause_timer_.serial != 0) reactor_.cancel(pause_timer_);
        stop_connecting();
        detach("the client is closed", errc::closed);
    });
    std::deque<waiting> left;
    {
        base::guard lock(mutex_);
        left.swap(queue_);
    }
    drop(std::move(left), "the client is closed", errc::closed);
}

void session::abandon() noexcept {
    if (const int fd = fd_for_abandon_.exchange(-1); fd >= 0) ::close(fd);
}

std::string session::name_of(const server& s) { return s.where.host + ":" + std::to_string(s.where.port); }

}  // namespace holdfast::zookeeper
