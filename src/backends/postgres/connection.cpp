#include "backends/postgres/connection.hpp"

#include "backends/postgres/errors.hpp"
#include "backends/postgres/libpq.hpp"
#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::postgres_backend {

using sql_backend::failure;
using sql_backend::fault;

connection::connection(made_session made, std::chrono::milliseconds answer_timeout)
    : sql_backend::connection(std::move(made.server), std::move(made.watched), answer_timeout),
      tls_(pq().PQsslInUse(made.session.get()) != 0),
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

bool connection::submit() {
    auto& last = in_flight_.back();
    const auto& r = last.what;
    last.begun = true;
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
            formats[i] = all[i].is == sql_backend::parameter::form::bytes ? 1 : 0;
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

bool connection::flush() { return pq().PQflush(pg_.get()) == 1; }

void connection::advance(progress& p) {
    bool readable = pq().PQconsumeInput(pg_.get()) != 0;
    collect(p);
    // OpenSSL keeps what libpq had no room for, where poll() does not see it.
    constexpr int most_rounds = 64;
    for (int i = 0; tls_ && readable && !in_flight_.empty() && i < most_rounds; ++i) {
        readable = pq().PQconsumeInput(pg_.get()) != 0;
        collect(p);
    }
    while (auto* const n = pq().PQnotifies(pg_.get())) {
        p.messages.emplace_back(n->extra == nullptr ? "" : n->extra);
        pq().PQfreemem(n);
    }
    if (readable && pq().PQstatus(pg_.get()) != CONNECTION_BAD) return;
    p.lost = failure{make_error_code(errc::unavailable), "the connection to " + server_.address + " broke: " +
                                                             base::printable(pq().PQerrorMessage(pg_.get()))};
}

void connection::collect(progress& p) {
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
        if (std::exchange(warned_, false) && first.changes)
            fail(first, {fault::effect::unknown,
                         {make_error_code(errc::unavailable),
                          "the commit was cancelled while it waited for a replica"}});
        finish_first(p);
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
            if (!in_flight_.empty()) fail(in_flight_.front(), std::move(why));
            return;
        }
        case PGRES_PIPELINE_ABORTED:
            if (!in_flight_.empty())
                fail(in_flight_.front(), {fault::effect::conflict, {make_error_code(errc::busy_server), {}}});
            return;
        default: return;
    }
}

sql_backend::session_maker maker_of(session_options how) {
    return [how = std::move(how)](const base::wake_fd& stop) -> std::shared_ptr<sql_backend::connection> {
        return std::make_shared<connection>(make_session(how, stop), how.answer_timeout);
    };
}

}  // namespace holdfast::postgres_backend
