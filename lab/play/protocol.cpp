#include "lab/play/protocol.hpp"

#include <nlohmann/json.hpp>

#include <chrono>

namespace holdfast::lab {

namespace {

using nlohmann::json;

std::int64_t count_of(boot_clock::time_point t) { return t.time_since_epoch().count(); }
boot_clock::time_point time_of(std::int64_t count) {
    return boot_clock::time_point{boot_clock::duration{count}};
}

// Replies may hold any bytes; they are for people here.
std::string dumped(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace

std::string to_line(const part& p) {
    return dumped({{"name", p.name},
                   {"scheme", p.scheme},
                   {"folder", p.folder},
                   {"sockets", p.sockets},
                   {"password", p.password},
                   {"table", p.table},
                   {"resource", p.resource},
                   {"key", p.key},
                   {"owner", p.owner},
                   {"ttl", p.ttl.count()},
                   {"nested", p.nested},
                   {"stack", p.stack},
                   {"clock_ahead", p.clock_ahead.count()}});
}

part part_from(const std::string& line) {
    const auto fields = json::parse(line);
    return {.name = fields.at("name"),
            .scheme = fields.at("scheme"),
            .folder = fields.at("folder"),
            .sockets = fields.at("sockets"),
            .password = fields.at("password"),
            .table = fields.at("table"),
            .resource = fields.at("resource"),
            .key = fields.at("key"),
            .owner = fields.at("owner"),
            .ttl = std::chrono::milliseconds{fields.at("ttl").get<std::int64_t>()},
            .nested = fields.at("nested"),
            .stack = fields.at("stack"),
            .clock_ahead = std::chrono::milliseconds{fields.at("clock_ahead").get<std::int64_t>()}};
}

std::string to_line(const report& seen) {
    json line{{"what", seen.what}, {"at", count_of(seen.at)}, {"text", seen.text}, {"reply", seen.reply}};
    if (seen.until) line["until"] = count_of(*seen.until);
    return dumped(line);
}

report report_from(const std::string& line) {
    const auto fields = json::parse(line);
    report seen{.what = fields.at("what").get<report::kind>(),
                .at = time_of(fields.at("at")),
                .text = fields.at("text"),
                .reply = fields.at("reply")};
    if (fields.contains("until")) seen.until = time_of(fields["until"]);
    return seen;
}

}  // namespace holdfast::lab
