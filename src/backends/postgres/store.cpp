#include "backends/postgres/store.hpp"

#include "backends/postgres/examine.hpp"
#include "backends/postgres/notifications.hpp"
#include "backends/postgres/schema.hpp"
#include "backends/postgres/shedlock_statements.hpp"
#include "backends/postgres/url.hpp"
#include "backends/sql/link_reports.hpp"
#include "backends/sql/store.hpp"

#include <string>
#include <utility>

namespace holdfast::postgres_backend {

namespace {

using sql_backend::layout;

std::vector<const sql_backend::prepared*> statements_on(layout table) {
    if (table == layout::shedlock) {
        const auto& d = shedlock_dialect();
        return {&d.look, &d.lock, &d.extend, &d.unlock, &d.scan};
    }
    const auto& d = dialect();
    return {&d.load, &d.insert, &d.save,        &d.save_at, &d.load_many, &d.save_many,
            &d.scan, &d.send,   &d.send_to_all, &d.clients, &d.clock};
}

std::unique_ptr<sql_backend::pool> make_pool(const backends::services& given, session_options how,
                                             std::shared_ptr<sql_backend::quarantine> restarts) {
    const auto where = how.to.where;
    constexpr std::size_t many = 3;  // its statements do not wait for each other's answers
    return std::make_unique<sql_backend::pool>(
        given.reactor, sql_backend::pool_settings{maker_of(std::move(how)), where, many},
        sql_backend::report_links(given, std::move(restarts)));
}

sql_backend::examiner examine_table(layout of) {
    return [of](sql_backend::database& on, sql_backend::time_point deadline,
                sql_backend::handler<backend::result<examination>> done) {
        examine(of, on, deadline, std::move(done));
    };
}

}  // namespace

std::unique_ptr<backend::store> open(const backends::services& given) {
    session_options statements{
        .to = parse_url(given.settings.url),
        .label =
            sql_backend::label_of_this_process(given.id.base64url()).substr(0, 63),  // PostgreSQL has no more
        .answer_timeout = given.settings.answer_timeout};
    const auto table = statements.to.table;
    statements.statements = statements_on(table);
    if (table == layout::shedlock)
        return sql_backend::open_shedlock(
            given,
            {shedlock_dialect(), make_pool(given, std::move(statements), nullptr), examine_table(table)});
    auto listener = statements;
    listener.statements.clear();
    listener.listens_at = "holdfast_" + given.id.base64url();
    listener.listener = sql_backend::number_of(given.id.base64url());
    return sql_backend::open(given, [&](sql_backend::mailbox::handlers to) -> sql_backend::parts {
        auto messages = std::make_unique<notifications>(given.reactor, listener, std::move(to));
        const auto* const session = messages.get();
        const auto longest_lease = statements.to.longest_lease;
        const auto quarantine =
            longest_lease ? std::make_shared<sql_backend::quarantine>(*longest_lease) : nullptr;
        auto connections = make_pool(given, std::move(statements), quarantine);
        return {dialect(),
                std::move(connections),
                std::move(messages),
                examine_table(table),
                [session] { return session->session(); },
                quarantine};
    });
}

}  // namespace holdfast::postgres_backend
