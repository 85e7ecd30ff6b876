#include "backends/mariadb/store.hpp"

#include "backends/mariadb/connection.hpp"
#include "backends/mariadb/examine.hpp"
#include "backends/mariadb/presence.hpp"
#include "backends/mariadb/schema.hpp"
#include "backends/mariadb/shedlock_statements.hpp"
#include "backends/mariadb/url.hpp"
#include "backends/sql/link_reports.hpp"
#include "backends/sql/store.hpp"

#include <poll.h>

#include <memory>
#include <string>
#include <utility>

namespace holdfast::mariadb_backend {

namespace {

using sql_backend::layout;

// A client does not ask for locks before others can see who it is, if that is possible.
sql_backend::session_maker after(std::shared_ptr<const base::wake_fd> settled, session_options how) {
    const auto limit = how.answer_timeout / 2;
    return [settled = std::move(settled), limit, make = maker_of(std::move(how))](const base::wake_fd& stop) {
        auto made = make(stop);
        pollfd fds[2] = {{settled->get(), POLLIN, 0}, {stop.get(), POLLIN, 0}};
        (void)::poll(fds, 2, static_cast<int>(limit.count()));
        return made;
    };
}

std::unique_ptr<sql_backend::pool> make_pool(const backends::services& given, sql_backend::session_maker make,
                                             std::string where,
                                             std::shared_ptr<sql_backend::quarantine> restarts) {
    constexpr std::size_t many = 2;  // the second waits for the first
    return std::make_unique<sql_backend::pool>(
        given.reactor, sql_backend::pool_settings{std::move(make), std::move(where), many},
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
    const auto id = given.id.base64url();
    session_options statements{.to = parse_url(given.settings.url),
                               .answer_timeout = given.settings.answer_timeout};
    (void)my();  // says at once if it is not there
    const auto table = statements.to.table;
    const auto where = statements.to.where;
    if (table == layout::shedlock)
        return sql_backend::open_shedlock(
            given, {shedlock_dialect(), make_pool(given, maker_of(std::move(statements)), where, nullptr),
                    examine_table(table)});
    auto shown = statements;
    shown.presence = sql_backend::number_of(id);
    return sql_backend::open(given, [&](sql_backend::mailbox::handlers to) -> sql_backend::parts {
        auto messages = std::make_unique<presence>(given.reactor, std::move(shown),
                                                   sql_backend::label_of_this_process(id), std::move(to));
        const auto* const session = messages.get();
        const auto longest_lease = statements.to.longest_lease;
        const auto quarantine =
            longest_lease ? std::make_shared<sql_backend::quarantine>(*longest_lease) : nullptr;
        const bool rings = statements.to.rings;
        auto connections =
            make_pool(given, after(messages->settled(), std::move(statements)), where, quarantine);
        return {rings ? ringing_dialect() : dialect(),
                std::move(connections),
                std::move(messages),
                examine_table(table),
                [session] { return session->session(); },
                quarantine};
    });
}

}  // namespace holdfast::mariadb_backend
