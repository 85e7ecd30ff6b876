#include "redis/connection/handshake.hpp"

#include "base/text.hpp"
#include "redis/protocol/command.hpp"
#include "redis/protocol/errors.hpp"
#include "redis/protocol/info_text.hpp"

#include <holdfast/error.hpp>

#include <charconv>

namespace holdfast::redis {

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
    if (next_ >= steps_.size())
        return fail(connect_failure::what::unreachable, errc::bad_reply,
                    address_ + " sent a reply that no command asked for", r.text());
    const step s = steps_[next_++];
    const auto now = r.is_error() ? on_error(s, r.text()) : on_reply(s, r.text());
    if (now == state::failed) return now;
    return next_ == steps_.size() ? state::done : state::waiting;
}

handshake::state handshake::on_error(step s, const std::string& text) {
    using what = connect_failure::what;
    last_error_ = text;
    // The server answers this to the first command, and then closes the connection.
    if (text.find("max number of clients") != std::string::npos)
        return fail(what::unreachable, errc::unavailable, address_ + " takes no more clients", text);
    if (error_word(text) == "DENIED")
        return fail(what::refused, errc::no_permission, address_ + " accepts no clients from this address",
                    text);
    if (error_word(text) == "NOAUTH")
        return fail(what::refused, errc::no_permission, address_ + " wants a password", text);
    const auto code = classify(text);
    switch (s) {
        case step::auth:
            if (code == errc::busy_server)
                return fail(what::unreachable, code, address_ + " cannot check the password now", text);
            return fail(what::refused, errc::no_permission, address_ + " refused the user or the password",
                        text);
        case step::select:
            if (code == errc::busy_server)
                return fail(what::unreachable, code, address_ + " cannot choose the database now", text);
            return fail(what::refused,
                        code == errc::no_permission ? code : make_error_code(errc::invalid_argument),
                        address_ + " refused the database", text);
        case step::set_name:
        case step::info_server:
        case step::info_memory:
        case step::info_replication:
        case step::ping: break;  // a user without the right to these can still lock
    }
    return state::waiting;
}

handshake::state handshake::on_reply(step s, const std::string& text) {
    switch (s) {
        case step::info_server: return on_info_server(text);
        case step::info_memory: info_.maxmemory_policy = info_field(text, "maxmemory_policy"); break;
        case step::info_replication: return on_info_replication(text);
        case step::auth:
        case step::select:
        case step::set_name:
        case step::ping: break;
    }
    return state::waiting;
}

handshake::state handshake::on_info_server(const std::string& text) {
    if (!sentinel_ && info_field(text, "redis_mode") == "sentinel") return refuse_sentinel();
    info_.run_id = info_field(text, "run_id");
    info_.version = info_field(text, "redis_version");
    info_.valkey = info_field(text, "valkey_version");
    const auto uptime = info_field(text, "uptime_in_seconds");
    std::int64_t seconds = 0;
    std::from_chars(uptime.data(), uptime.data() + uptime.size(), seconds);
    info_.uptime = std::chrono::seconds{seconds};
    return state::waiting;
}

handshake::state handshake::on_info_replication(const std::string& text) {
    info_.role = info_field(text, "role");
    info_.replid = info_field(text, "master_replid");
    if (const auto host = info_field(text, "master_host"); !host.empty())
        info_.follows = std::string{host} + ":" + std::string{info_field(text, "master_port")};
    const auto promoted_at = info_field(text, "second_repl_offset");
    info_.promoted = !promoted_at.empty() && !promoted_at.starts_with('-');
    // If it does not report a role, only the refusal of a write shows that it is no master.
    if (master_only_ && !info_.role.empty() && info_.role != "master")
        return fail(connect_failure::what::unreachable, errc::unavailable,
                    address_ + " is not the master, it says of itself", "role:" + info_.role);
    return state::waiting;
}

}  // namespace holdfast::redis
