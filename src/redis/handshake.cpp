#include "redis/handshake.hpp"

#include "base/text.hpp"
#include "redis/command.hpp"
#include "redis/errors.hpp"

#include <holdfast/error.hpp>

#include <charconv>

namespace holdfast::redis {

std::string_view info_field(std::string_view info, std::string_view field) noexcept {
    while (!info.empty()) {
        auto line = info.substr(0, info.find('\n'));
        info.remove_prefix(std::min(info.size(), line.size() + 1));
        if (line.ends_with('\r')) line.remove_suffix(1);
        if (line.size() > field.size() && line.starts_with(field) && line[field.size()] == ':')
            return line.substr(field.size() + 1);
    }
    return {};
}

handshake::handshake(const node_config& config, purpose use)
    : address_(address_text(config)),
      master_only_(config.master_only),
      sentinel_(config.sentinel),
      tls_(config.tls != nullptr) {
    const auto say = [this](step s, const auto&... words) {
        append_command(request_, words...);
        steps_.push_back(s);
    };
    using sv = std::string_view;
    info_.address = address_;
    info_.db = config.db;
    info_.user = config.user.empty() ? "default" : config.user;
    info_.authenticated = !config.password.empty();
    if (!config.password.empty()) {
        if (config.user.empty()) {
            say(step::auth, sv{"AUTH"}, sv{config.password});
        } else {
            say(step::auth, sv{"AUTH"}, sv{config.user}, sv{config.password});
        }
    }
    if (use == purpose::commands && config.db != 0) say(step::select, sv{"SELECT"}, config.db);
    if (!config.client_name.empty()) say(step::set_name, sv{"CLIENT"}, sv{"SETNAME"}, sv{config.client_name});
    if (use == purpose::commands) {
        // One section per command: servers before 7 accept no more.
        say(step::info_server, sv{"INFO"}, sv{"server"});
        say(step::info_memory, sv{"INFO"}, sv{"memory"});
    }
    if (use == purpose::commands || config.master_only)
        say(step::info_replication, sv{"INFO"}, sv{"replication"});
    if (use == purpose::subscriptions) {
        // So that a NOAUTH comes now and not as the answer to a SUBSCRIBE.
        say(step::ping, sv{"PING"});
    }
}

handshake::state handshake::fail(connect_failure::what kind, std::error_code code,
                                 const std::string& sentence, const std::string& server_text) {
    failure_ = {kind, {code, sentence + ": " + base::printable(server_text)}};
    return state::failed;
}

// A Sentinel would answer every command of a lock with "unknown command".
handshake::state handshake::refuse_sentinel() {
    failure_ = {connect_failure::what::refused,
                {errc::invalid_argument, address_ + " is a Sentinel, which keeps no locks; write redis" +
                                             (tls_ ? "s" : "") + "+sentinel://" + address_ +
                                             "/NAME with the name of the master that it watches, and name "
                                             "all sentinels"}};
    return state::failed;
}

handshake::state handshake::resume(const reply& r) {
    using what = connect_failure::what;
    if (next_ >= steps_.size())
        return fail(what::unreachable, errc::bad_reply, address_ + " answered more than it was asked",
                    r.text());
    const step s = steps_[next_++];
    if (r.is_error()) {
        last_error_ = r.text();
        const auto code = classify(r.text());
        // The server answers this to the first command, and then closes the connection.
        if (r.text().find("max number of clients") != std::string::npos)
            return fail(what::unreachable, errc::unavailable, address_ + " takes no more clients", r.text());
        if (error_word(r.text()) == "DENIED")
            return fail(what::refused, errc::no_permission, address_ + " takes no clients from here",
                        r.text());
        if (error_word(r.text()) == "NOAUTH")
            return fail(what::refused, errc::no_permission, address_ + " wants a password", r.text());
        switch (s) {
            case step::auth:
                if (code == errc::busy_server)
                    return fail(what::unreachable, code, address_ + " cannot check the password now",
                                r.text());
                return fail(what::refused, errc::no_permission,
                            address_ + " refused the user or the password", r.text());
            case step::select:
                if (code == errc::busy_server)
                    return fail(what::unreachable, code, address_ + " cannot choose the database now",
                                r.text());
                return fail(what::refused,
                            code == errc::no_permission ? code : make_error_code(errc::invalid_argument),
                            address_ + " refused the database", r.text());
            case step::set_name:
            case step::info_server:
            case step::info_memory:
            case step::info_replication:
            case step::ping: break;  // a user without the right to these can still lock
        }
    } else {
        switch (s) {
            case step::info_server: {
                if (!sentinel_ && info_field(r.text(), "redis_mode") == "sentinel") return refuse_sentinel();
                info_.run_id = info_field(r.text(), "run_id");
                info_.version = info_field(r.text(), "redis_version");
                info_.valkey = info_field(r.text(), "valkey_version");
                const auto uptime = info_field(r.text(), "uptime_in_seconds");
                std::int64_t seconds = 0;
                std::from_chars(uptime.data(), uptime.data() + uptime.size(), seconds);
                info_.uptime = std::chrono::seconds{seconds};
                break;
            }
            case step::info_memory: info_.maxmemory_policy = info_field(r.text(), "maxmemory_policy"); break;
            case step::info_replication:
                info_.role = info_field(r.text(), "role");
                info_.replid = info_field(r.text(), "master_replid");
                if (const auto host = info_field(r.text(), "master_host"); !host.empty())
                    info_.follows =
                        std::string{host} + ":" + std::string{info_field(r.text(), "master_port")};
                {
                    const auto promoted_at = info_field(r.text(), "second_repl_offset");
                    info_.promoted = !promoted_at.empty() && !promoted_at.starts_with('-');
                }
                // If it does not report a role, only the refusal of a write shows that it is no master.
                if (master_only_ && !info_.role.empty() && info_.role != "master")
                    return fail(what::unreachable, errc::unavailable,
                                address_ + " is not the master, it says of itself", "role:" + info_.role);
                break;
            case step::auth:
            case step::select:
            case step::set_name:
            case step::ping: break;
        }
    }
    return next_ == steps_.size() ? state::done : state::waiting;
}

}  // namespace holdfast::redis
