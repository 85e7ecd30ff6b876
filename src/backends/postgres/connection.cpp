#include "backends/postgres/connection.hpp"

#include "backends/postgres/errors.hpp"
#include "backends/postgres/libpq.hpp"
#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

namespace holdfast::postgres_backend {

using sql_backend::failure;
using sql_backend::fault;
using sql_backend::outcome;

connection::connection(io::reactor& reactor, made_session made, std::chrono::milliseconds answer_timeout)
    : reactor_(reactor),
      server_(std::move(made.server)),
      answer_timeout_(answer_timeout),
      tls_(pq().PQsslInUse(made.session.get()) != 0),
      fd_(std::move(made.watched)),
      pg_(std::move(made.session)) {
    // A commit that was cancelled while it waited for a replica reports success, and warns.
    pq().PQsetNoticeReceiver(
        pg_.get(),
        [](void* self, const PGresult* notice) {
            const char* const state = pq().PQresultErrorField(notice, PG_DIAG_SQLSTATE);
            if (state != nullptr && std::string_view{state} == "01000") *static_cast<bool*>(self) = true;
        },
        &warned_);
}

connection::~connection() = default;

void connection::start(open_sockets& sockets, handlers to) {
    to_ = std::move(to);
    sockets_ = &sockets;
    const base::guard lock(mutex_);
    sockets_->add(fd_.get(), pq().PQsocket(pg_.get()));
    reactor_reads_ = !to_.reactor_reads;
    interest_ = reactor_reads_ ? EPOLLIN | EPOLLRDHUP : EPOLLRDHUP;
    reactor_.watch(fd_.get(), interest_, [weak = weak_from_this()](std::uint32_t events) {
        if (const auto self = weak.lock()) self->on_event(events);
    });
}

bool connection::send(request& r) {
    const base::guard lock(mutex_);
    if (!pg_ || spent_) return false;
    if (!submit(r)) {
        // libpq may have taken a part of it, and would send that with the next statement.
        spent_ = true;
        reactor_.post([weak = weak_from_this()] {
            if (const auto self = weak.lock())
                self->lose({make_error_code(errc::unavailable), "the connection is broken"});
        });
        return false;
    }
    const bool changes = r.what.what != nullptr && r.what.what->changes;
    in_flight_.push_back({.what = std::move(r), .at = boot_clock::now(), .changes = changes});
    count();
    flush();
    arm();
    return true;
}

// False: nothing of it will reach the server, because the session ends.
bool connection::submit(const request& r) {
    bool taken = false;
    if (r.what.what == nullptr) {
        taken =
            pq().PQsendQueryParams(pg_.get(), r.sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 1) != 0;
    } else {
        const auto& all = r.what.parameters;
        const auto n = all.size();
        std::vector<const char*> values(n);
        std::vector<int> lengths(n);
        std::vector<int> formats(n);
        for (std::size_t i = 0; i < n; ++i) {
            values[i] = all[i].value.c_str();
            lengths[i] = static_cast<int>(all[i].value.size());
            formats[i] = all[i].blob ? 1 : 0;
        }
        // Behind a pooler a name may mean the statement of another client. A statement that is run once has
        // none.
        taken = (server_.pooled || *r.what.what->name == '\0'
                     ? pq().PQsendQueryParams(pg_.get(), r.what.what->sql, static_cast<int>(n), nullptr,
                                              values.data(), lengths.data(), formats.data(), 1)
                     : pq().PQsendQueryPrepared(pg_.get(), r.what.what->name, static_cast<int>(n),
                                                values.data(), lengths.data(), formats.data(), 1)) != 0;
    }
    return taken && pq().PQpipelineSync(pg_.get()) != 0;
}

void connection::flush() {
    const bool more = pq().PQflush(pg_.get()) == 1;
    if (more == wants_room_) return;
    wants_room_ = more;
    set_interest();
}

// Without EPOLLIN only the end of the connection, and room for what has to be sent, wake the reactor.
void connection::set_interest() {
    const std::uint32_t wanted = EPOLLRDHUP | (reactor_reads_ ? EPOLLIN : 0U) | (wants_room_ ? EPOLLOUT : 0U);
    if (wanted == interest_ || broken_) return;
    interest_ = wanted;
    reactor_.modify(fd_.get(), wanted);
}

void connection::count() { in_flight_count_.store(pg_ && !broken_ ? in_flight_.size() : 0); }

void connection::let_reactor_read(bool does) {
    const base::guard lock(mutex_);
    reactor_reads_ = does;
    if (pg_) set_interest();
}

void connection::on_event(std::uint32_t events) {
    // The interest is reset only now, so that the caller that reads has no system call for it.
    const bool reads = !to_.reactor_reads || to_.reactor_reads(*this);
    if (reads || (events & ~EPOLLIN) != 0) read_some();
}

void connection::read_some() {
    std::vector<finished> done;
    std::vector<std::string> messages;
    std::optional<failure> lost;
    {
        const base::guard lock(mutex_);
        if (!pg_ || broken_) return;
        bool readable = pq().PQconsumeInput(pg_.get()) != 0;
        collect(done);
        // OpenSSL keeps what libpq had no room for, where poll() does not see it.
        constexpr int most_rounds = 64;
        for (int i = 0; tls_ && readable && !in_flight_.empty() && i < most_rounds; ++i) {
            readable = pq().PQconsumeInput(pg_.get()) != 0;
            collect(done);
        }
        while (auto* const n = pq().PQnotifies(pg_.get())) {
            messages.emplace_back(n->extra == nullptr ? "" : n->extra);
            pq().PQfreemem(n);
        }
        if (!readable || pq().PQstatus(pg_.get()) == CONNECTION_BAD || (spent_ && in_flight_.empty())) {
            lost = last_.code ? last_
                              : failure{make_error_code(errc::unavailable),
                                        "the connection to " + server_.address +
                                            " broke: " + base::printable(pq().PQerrorMessage(pg_.get()))};
            broken_ = true;
        } else {
            flush();
        }
        count();
    }
    for (auto& one : done) one.done(std::move(one.result));
    if (to_.on_message)
        for (const auto& m : messages) to_.on_message(m);
    if (!lost) return;
    if (reactor_.in_thread()) return lose(*std::move(lost));
    reactor_.post([self = shared_from_this(), why = *std::move(lost)] { self->lose(why); });
}

void connection::collect(std::vector<finished>& done) {
    int in_a_row = 0;
    while (pq().PQisBusy(pg_.get()) == 0) {
        const pg_result r{pq().PQgetResult(pg_.get())};
        if (!r) {
            // Each statement ends with one. After the last, or in a broken session, there are only these.
            if (in_flight_.empty() || ++in_a_row > 2) return;
            continue;
        }
        in_a_row = 0;
        if (in_flight_.empty()) {
            take(r.get());  // the server ends an idle session
            continue;
        }
        if (pq().PQresultStatus(r.get()) != PGRES_PIPELINE_SYNC) {
            take(r.get());
            continue;
        }
        auto& first = in_flight_.front();
        if (std::exchange(warned_, false) && first.changes && !first.failed) {
            first.failed = true;
            first.why = {fault::effect::unknown,
                         {make_error_code(errc::unavailable),
                          "the commit was cancelled while it waited for a replica"}};
        }
        if (to_.on_round_trip) to_.on_round_trip(boot_clock::now() - first.at);
        done.push_back({std::move(first.what.done),
                        first.failed ? outcome{std::move(first.why)} : outcome{std::move(first.found)}});
        in_flight_.pop_front();
    }
}

void connection::take(const PGresult* r) {
    switch (pq().PQresultStatus(r)) {
        case PGRES_TUPLES_OK:
            if (!in_flight_.empty()) in_flight_.front().found = rows_of(r);
            return;
        case PGRES_FATAL_ERROR: {
            const bool changes = !in_flight_.empty() && in_flight_.front().changes;
            auto why = fault_in(r, changes);
            const char* const text = pq().PQresultErrorField(r, PG_DIAG_SQLSTATE);
            const std::string_view state = text == nullptr ? "" : text;
            // A replica after a failover, or prepared statements that are gone or do not fit any more.
            if (state == "25006" || state == "26000" || state == "0A000") spent_ = true;
            if (state == "26000" || state == "0A000") why.what = fault::effect::conflict;
            if (state.starts_with("57P") || state.empty()) last_ = why.why;
            if (in_flight_.empty() || in_flight_.front().failed) return;
            in_flight_.front().failed = true;
            in_flight_.front().why = std::move(why);
            return;
        }
        case PGRES_PIPELINE_ABORTED:
            if (in_flight_.empty() || in_flight_.front().failed) return;
            in_flight_.front().failed = true;
            in_flight_.front().why = {fault::effect::conflict, {make_error_code(errc::busy_server), {}}};
            return;
        default: return;
    }
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): it may be of this connection, and outlives it
void connection::lose(failure why) {
    if (std::exchange(lost_, true)) return;
    std::deque<sent> left;
    pg_session ended;
    {
        const base::guard lock(mutex_);
        left.swap(in_flight_);
        ended = std::move(pg_);
        broken_ = true;
        count();
    }
    reactor_.unwatch(fd_.get());
    if (sockets_ != nullptr) sockets_->remove(fd_.get());
    ended.reset();
    // A thread that polls it may keep it open.
    (void)::shutdown(fd_.get(), SHUT_RDWR);
    for (auto& one : left) {
        if (!one.failed) one.why = {one.changes ? fault::effect::unknown : fault::effect::none, why};
        one.what.done(outcome{std::move(one.why)});
    }
    if (to_.on_lost && !closed_) to_.on_lost(why);
}

void connection::close(const failure& why) {
    closed_ = true;
    lose(why);
}

void connection::arm() {
    if (armed_ || in_flight_.empty()) return;
    armed_ = true;
    reactor_.at(in_flight_.front().at + answer_timeout_, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->on_timer();
    });
}

// Neither the kernel nor libpq notices a server that is stopped.
void connection::on_timer() {
    read_some();  // it may be there, and nobody has read it
    {
        const base::guard lock(mutex_);
        armed_ = false;
        if (in_flight_.empty()) return;
        if (in_flight_.front().at + answer_timeout_ > boot_clock::now()) return arm();
    }
    lose({make_error_code(errc::unavailable),
          "no answer from " + server_.address + " within " + base::to_text(answer_timeout_)});
}

}  // namespace holdfast::postgres_backend
