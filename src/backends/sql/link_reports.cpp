#include "backends/sql/link_reports.hpp"

#include "base/clock.hpp"

#include <holdfast/error.hpp>

#include <utility>

namespace holdfast::sql_backend {

link_handlers report_links(const backends::services& to, std::shared_ptr<quarantine> restarts) {
    using backend::notice;
    const auto notify = to.notify;
    return {[restarts = std::move(restarts)](const server_facts& server) {
                if (restarts)
                    restarts->on_session(server.address, server.run_id, server.uptime, boot_clock::now());
            },
            [notify](const server_facts& server, bool restarted) {
                if (restarted) notify({.what = notice::change::restarted, .detail = server.address});
                notify({.what = notice::change::link_up,
                        .detail = server.address,
                        .run_id = server.run_id,
                        .uptime = server.uptime});
            },
            [notify](const failure& why) {
                notify({.what = notice::change::link_down,
                        .detail = why.in_one(),
                        .reason = why.code == errc::unavailable ? std::error_code{} : why.code});
            }};
}

}  // namespace holdfast::sql_backend
