#include "backends/mariadb/connection.hpp"

#include "backends/mariadb/errors.hpp"
#include "backends/mariadb/schema.hpp"
#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <sys/socket.h>

#include <cerrno>
#include <new>
#include <utility>

namespace holdfast::mariadb_backend {

using sql_backend::failure;
using sql_backend::fault;

connection::connection(made_session made, std::chrono::milliseconds answer_timeout)
    : sql_backend::connection(std::move(made.server), std::move(made.watched), answer_timeout),
      tls_(made.in_tls),
      db_(std::move(made.session)) {}

bool connection::submit() {
    if (now_ == phase::idle) begin();
    return true;
}

void connection::begin() {
    auto& first = in_flight_.front();
    first.begun = true;
    first.at = boot_clock::now();
    sql_ = first.what.what.what == nullptr ? first.what.sql : text_of(first.what.what);
    now_ = phase::asking;
    const no_broken_pipes guard{tls_};
    waits_ = my().mysql_real_query_start(&failed_, db_.get(), sql_.data(), sql_.size());
    if (waits_ != 0) return;
    // It has failed, or the answer was there at once.
    try {
        reactor().post([weak = weak_from_this()] {
            if (const auto self = weak.lock()) self->read_some();
        });
    } catch (const std::bad_alloc&) {  // it was sent; the timer reads the answer
    }
}

void connection::go_on() {
    const int ready = waits_ & ~MYSQL_WAIT_TIMEOUT;
    const no_broken_pipes guard{tls_};
    switch (now_) {
        case phase::idle: waits_ = 0; return;
        case phase::asking: waits_ = my().mysql_real_query_cont(&failed_, db_.get(), ready); return;
        case phase::reading: waits_ = my().mysql_store_result_cont(&result_, db_.get(), ready); return;
        case phase::next: waits_ = my().mysql_next_result_cont(&failed_, db_.get(), ready); return;
    }
}

void connection::advance(progress& p) {
    if (now_ == phase::idle && in_flight_.empty()) return look_for_the_end(p);
    while (!p.lost) {
        if (now_ == phase::idle) {
            if (in_flight_.empty()) return;
            if (spent_ || in_flight_.front().what.deadline <= boot_clock::now()) {
                fail(in_flight_.front(),
                     {fault::effect::none,
                      spent_ ? last_
                             : failure{make_error_code(errc::unavailable), "no time was left to send it"}});
                finish_first(p);
                continue;
            }
            begin();
        } else if (waits_ != 0) {
            go_on();
        }
        if (waits_ != 0) return;
        end_phase(p);
    }
}

void connection::read_result() {
    now_ = phase::reading;
    result_ = nullptr;
    waits_ = my().mysql_store_result_start(&result_, db_.get());
}

void connection::end_phase(progress& p) {
    auto& first = in_flight_.front();
    switch (now_) {
        case phase::idle: return;
        case phase::asking:
        case phase::next: return failed_ != 0 ? fail_first(p) : read_result();
        case phase::reading: break;
    }
    if (result_ == nullptr) {
        if (my().mysql_errno(db_.get()) != 0) return fail_first(p);
        // A change has no result: its answer is the number of rows that it found.
        first.found.resize(static_cast<std::size_t>(my().mysql_affected_rows(db_.get())));
    } else {
        first.found = rows_of(result_);
        my().mysql_free_result(std::exchange(result_, nullptr));
    }
    if (my().mysql_more_results(db_.get()) != 0) {
        now_ = phase::next;
        waits_ = my().mysql_next_result_start(&failed_, db_.get());
        return;
    }
    now_ = phase::idle;
    finish_first(p);
}

void connection::fail_first(progress& p) {
    const auto number = my().mysql_errno(db_.get());
    auto& first = in_flight_.front();
    auto why = fault_of(number, my().mysql_error(db_.get()), first.changes);
    now_ = phase::idle;
    if (ends_session(number)) {
        why.why.text.insert(0, server_.address + ": ");
        p.lost = why.why;
    }
    if (spends_session(number)) {
        spent_ = true;
        last_ = why.why;
    }
    fail(first, std::move(why));
    finish_first(p);
}

// The server says nothing to an idle session, unless it ends it.
void connection::look_for_the_end(progress& p) {
    char one = 0;
    const auto n = ::recv(socket(), &one, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    p.lost = failure{make_error_code(errc::unavailable), server_.address + " has ended the connection"};
}

void connection::end_session() noexcept {
    // A farewell would wait for room, or follow a part of a statement.
    if (now_ != phase::idle) (void)::shutdown(socket(), SHUT_RDWR);
    if (result_ != nullptr) my().mysql_free_result(std::exchange(result_, nullptr));
    db_.reset();
}

sql_backend::session_maker maker_of(session_options how) {
    return [how = std::move(how)](const base::wake_fd& stop) -> std::shared_ptr<sql_backend::connection> {
        return std::make_shared<connection>(make_session(how, stop), how.answer_timeout);
    };
}

}  // namespace holdfast::mariadb_backend
