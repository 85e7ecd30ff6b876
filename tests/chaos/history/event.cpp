#include "chaos/history/event.hpp"

#include <array>
#include <cstdio>

namespace holdfast::chaos {

std::string_view to_string(model m) noexcept {
    switch (m) {
        case model::exclusive: return "exclusive";
        case model::reentrant: return "reentrant";
        case model::shared: return "shared";
        case model::counted: return "counted";
        case model::latch: return "latch";
    }
    return "?";
}

std::string_view to_string(action a) noexcept {
    switch (a) {
        case action::acquire: return "acquire";
        case action::release: return "release";
        case action::look: return "valid?";
        case action::loss: return "lost_token() reported?";
        case action::write: return "write";
        case action::set: return "set";
        case action::down: return "down";
        case action::read: return "read";
        case action::erase: return "erase";
        case action::wait: return "wait";
    }
    return "?";
}

std::string_view to_string(phase p) noexcept {
    switch (p) {
        case phase::none: return "none";
        case phase::invoke: return "...";
        case phase::ok: return "yes";
        case phase::busy: return "no";
        case phase::fail: return "failed";
        case phase::info: return "unknown";
    }
    return "?";
}

std::string_view to_string(side s) noexcept {
    switch (s) {
        case side::only: return "";
        case side::reader: return "reader";
        case side::writer: return "writer";
    }
    return "?";
}

namespace {

bool has_count(const event& e) {
    switch (e.action) {
        case action::set: return e.phase == phase::invoke;
        case action::down: return e.phase == phase::invoke || e.phase == phase::ok;
        case action::read: return e.phase == phase::ok;
        default: return false;
    }
}

}  // namespace

std::string relative(time_ns t, time_ns origin) {
    if (t == never) return "never";
    if (t == long_ago) return "-";
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%+.3f ms", static_cast<double>(t - origin) / 1e6);
    return text.data();
}

std::string describe(const event& e, const std::vector<lock_row>& locks, time_ns origin) {
    std::array<char, 160> head{};
    std::snprintf(
        head.data(), head.size(), "%14s  p%u.t%u  #%-6llu %s %s %s", relative(e.t, origin).c_str(), e.process,
        e.thread, static_cast<unsigned long long>(e.hold), std::string{to_string(e.action)}.c_str(),
        e.lock < locks.size() ? locks[e.lock].name.c_str() : "?", std::string{to_string(e.phase)}.c_str());
    std::string line = head.data();
    if (e.side != side::only) line += " " + std::string{to_string(e.side)};
    if (e.outer != 0) line += " inside #" + std::to_string(e.outer);
    if (e.permits > 1) line += " permits " + std::to_string(e.permits);
    if (e.deadline != 0) line += " until " + relative(e.deadline, origin);
    if (e.fence != 0) line += " fence " + std::to_string(e.fence);
    if (e.error != 0) line += " error " + std::to_string(e.error);
    if (has_count(e)) line += " " + std::to_string(e.count);
    if ((e.action == action::acquire || e.action == action::wait) && e.phase == phase::invoke) {
        line += e.wait == never ? " waits for ever"
                : e.wait == 0   ? " asks once"
                                : " waits " + std::to_string(e.wait / 1'000'000) + " ms";
    }
    return line;
}

}  // namespace holdfast::chaos
