#include "lab/protocol.hpp"

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

std::string to_line(const part& told) {
    return dumped({{"name", told.name},
                   {"scheme", told.scheme},
                   {"folder", told.folder},
                   {"sockets", told.sockets},
                   {"password", told.password},
                   {"table", told.table},
                   {"resource", told.resource},
                   {"key", told.key},
                   {"owner", told.owner},
                   {"ttl", told.ttl.count()},
                   {"nested", told.nested},
                   {"stack", told.stack},
                   {"clock_ahead", told.clock_ahead.count()}});
}

part part_from(const std::string& line) {
    const auto told = json::parse(line);
    return {.name = told.at("name"),
            .scheme = told.at("scheme"),
            .folder = told.at("folder"),
            .sockets = told.at("sockets"),
            .password = told.at("password"),
            .table = told.at("table"),
            .resource = told.at("resource"),
            .key = told.at("key"),
            .owner = told.at("owner"),
            .ttl = std::chrono::milliseconds{told.at("ttl").get<std::int64_t>()},
            .nested = told.at("nested"),
            .stack = told.at("stack"),
            .clock_ahead = std::chrono::milliseconds{told.at("clock_ahead").get<std::int64_t>()}};
}

std::string to_line(const report& seen) {
    json line{{"what", seen.what}, {"at", count_of(seen.at)}, {"text", seen.text}, {"reply", seen.reply}};
    if (seen.until) line["until"] = count_of(*seen.until);
    return dumped(line);
}

report report_from(const std::string& line) {
    const auto told = json::parse(line);
    report seen{.what = told.at("what").get<report::kind>(),
                .at = time_of(told.at("at")),
                .text = told.at("text"),
                .reply = told.at("reply")};
    if (told.contains("until")) seen.until = time_of(told["until"]);
    return seen;
}

}  // namespace holdfast::lab
