#include "chaos/checker/attempt.hpp"

#include <algorithm>
#include <unordered_map>

namespace holdfast::chaos {

namespace {

void begin(attempt& a, const event& e) {
    a.id = e.hold;
    a.outer = e.outer;
    a.process = e.process;
    a.thread = e.thread;
    a.permits = e.permits;
    a.lock = e.lock;
    a.side = e.side;
    a.wait = e.wait;
    a.lease = e.lease;
    a.asked = e.t;
}

void believe_until(attempt& a, time_ns until) { a.believed = std::max(a.believed, until); }

void learn_of_end(attempt& a, time_ns t) {
    if (a.lost == never && a.promised > t) a.lost = t;
}

void promise(attempt& a, time_ns deadline) {
    if (deadline == 0) return;
    a.promised = std::max(a.promised, deadline);
    believe_until(a, deadline);
}

void add(attempt& a, const event& e) {
    switch (e.action) {
        case action::acquire:
            a.answered = e.t;
            a.answer = e.phase;
            a.fence = e.fence;
            a.token = e.token;
            a.depth = e.depth;
            if (e.phase == phase::ok) promise(a, e.deadline);
            if (e.phase == phase::ok && e.deadline != 0) a.granted_from = e.deadline - a.lease;
            break;
        case action::look:
            if (e.phase == phase::ok) {
                believe_until(a, e.t);
                promise(a, e.deadline);
            } else {
                learn_of_end(a, e.t);
            }
            break;
        case action::release:
            if (e.phase == phase::invoke) {
                a.release_begun = e.t;
            } else {
                a.release_answered = e.t;
                a.release = e.phase;
                if (e.phase == phase::fail) learn_of_end(a, e.t);
            }
            break;
        case action::loss:
            if (e.phase == phase::fail) a.unreported = e.t;
            break;
        case action::write:
        case action::set:  // of latches, which nobody holds
        case action::down:
        case action::read:
        case action::erase:
        case action::wait: break;
    }
}

}  // namespace

std::vector<attempt> attempts_of(std::span<const event> events) {
    std::vector<attempt> all;
    std::unordered_map<std::uint64_t, std::size_t> place;
    const auto acquisitions = std::count_if(events.begin(), events.end(), [](const event& e) {
        return e.action == action::acquire && e.phase == phase::invoke;
    });
    all.reserve(static_cast<std::size_t>(acquisitions));
    place.reserve(static_cast<std::size_t>(acquisitions));
    for (const auto& e : events) {
        if (e.action == action::acquire && e.phase == phase::invoke) {
            place.emplace(e.hold, all.size());
            begin(all.emplace_back(), e);
        } else if (const auto it = place.find(e.hold); it != place.end()) {
            add(all[it->second], e);
        }
    }
    return all;
}

void end_firm_part(attempt& a, time_ns t) {
    a.believed = t < a.answered ? long_ago : std::min(a.believed, t);
}

std::vector<firm_part> firm_parts(std::span<const attempt> attempts) {
    std::vector<firm_part> parts;
    parts.reserve(attempts.size());
    for (const auto& a : attempts) {
        if (!a.held() || a.believed == long_ago) continue;
        const time_ns to = std::min(a.release_begun, a.believed);
        parts.push_back({std::min(a.answered, to), to, &a});
    }
    std::sort(parts.begin(), parts.end(),
              [](const firm_part& a, const firm_part& b) { return a.from < b.from; });
    return parts;
}

}  // namespace holdfast::chaos
