#include "backends/postgres/store.hpp"

#include "backends/postgres/examine.hpp"
#include "backends/postgres/notifications.hpp"
#include "backends/postgres/pool.hpp"
#include "backends/postgres/schema.hpp"
#include "backends/postgres/url.hpp"
#include "backends/sql/store.hpp"

#include <unistd.h>

#include <array>
#include <string>
#include <utility>

namespace holdfast::postgres_backend {

namespace {

using backend::notice;

std::string label_of(const std::string& client) {
    constexpr std::size_t most = 63;  // of PostgreSQL
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
    auto text = to_text(sql_backend::label{client, ::getpid(), host.data()});
    return text.substr(0, most);
}

std::vector<const sql_backend::prepared*> all_of(const sql_backend::dialect& d) {
    return {&d.load, &d.insert, &d.save,        &d.save_at, &d.load_many, &d.save_many,
            &d.scan, &d.send,   &d.send_to_all, &d.clients, &d.clock};
}

}  // namespace

std::unique_ptr<backend::store> open(const backends::services& given) {
    session_options statements{.to = parse_url(given.settings.url),
                               .label = label_of(given.id.base64url()),
                               .answer_timeout = given.settings.answer_timeout,
                               .statements = all_of(dialect())};
    auto listener = statements;
    listener.statements.clear();
    listener.listens_at = "holdfast_" + given.id.base64url();
    listener.listener = sql_backend::number_of(given.id.base64url());
    const auto notify = given.notify;
    auto& reactor = given.reactor;
    return sql_backend::open(given, [&](sql_backend::mailbox::handlers to) -> sql_backend::parts {
        auto messages = std::make_unique<notifications>(reactor, std::move(listener), std::move(to));
        const auto* const session = messages.get();
        const auto longest_lease = statements.to.longest_lease;
        const auto quarantine =
            longest_lease ? std::make_shared<sql_backend::quarantine>(*longest_lease) : nullptr;
        link_handlers link{
            [quarantine](const server_facts& server) {
                if (quarantine)
                    quarantine->on_session(server.address, server.run_id, server.uptime, boot_clock::now());
            },
            [notify](const server_facts& server, bool restarted) {
                if (restarted) notify({.what = notice::change::restarted, .detail = server.address});
                notify({.what = notice::change::link_up,
                        .detail = server.address,
                        .run_id = server.run_id,
                        .uptime = server.uptime});
            },
            [notify](const sql_backend::failure& why) {
                notify({.what = notice::change::link_down,
                        .detail = why.in_one(),
                        .reason = why.code == errc::unavailable ? std::error_code{} : why.code});
            }};
        auto connections = std::make_unique<pool>(reactor, std::move(statements), std::move(link));
        return {dialect(),
                std::move(connections),
                std::move(messages),
                examine,
                [session] { return session->session(); },
                quarantine};
    });
}

}  // namespace holdfast::postgres_backend
