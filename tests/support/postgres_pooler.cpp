#include "support/postgres_pooler.hpp"

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace holdfast::test {

postgres_pooler::postgres_pooler(const postgres_server& before) {
    const auto settings = directory_.path() / "pgbouncer.ini";
    std::ofstream{settings} << "[databases]\n* = host=" << before.socket_directory()
                            << " port=" << before.port() << " user=holdfast\n"
                            << "[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port_.number()
                            << "\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\n"
                            << "default_pool_size = 4\nserver_login_retry = 1\n";
    postgres_server::give(settings);
    std::filesystem::permissions(directory_.path(), std::filesystem::perms::all);
    process_.emplace(postgres_server::as_its_user({"/usr/sbin/pgbouncer", settings.string()}));
    const bool up = eventually(
        patience, [&] { return !process_->running() || static_cast<bool>(connect_to(port_.number())); });
    if (!up || !process_->running())
        throw std::runtime_error{"pgbouncer does not start: " + process_->errors() + process_->output()};
}

std::string postgres_pooler::url() const {
    return "postgres://holdfast@127.0.0.1:" + std::to_string(port_.number()) + "/postgres?create=true";
}

}  // namespace holdfast::test
