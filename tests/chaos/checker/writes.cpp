#include "chaos/checker/models.hpp"

#include <algorithm>
#include <unordered_map>

namespace holdfast::chaos {

namespace {

struct accepted_write {
    time_ns begun, done;
    const attempt* by;
};

}  // namespace

violations check_writes(std::span<const attempt> attempts, std::span<const event> writes) {
    std::unordered_map<std::uint64_t, const attempt*> by_id;
    for (const auto& a : attempts) by_id.emplace(a.id, &a);
    std::unordered_map<std::uint64_t, time_ns> begun;  // a holder writes once at a time
    std::vector<accepted_write> all;
    for (const auto& e : writes) {
        if (e.phase == phase::invoke) begun[e.hold] = e.t;
        const auto who = by_id.find(e.hold);
        if (e.phase == phase::ok && who != by_id.end()) all.push_back({begun[e.hold], e.t, who->second});
    }
    auto by_end = all;
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.begun < b.begun; });
    std::sort(by_end.begin(), by_end.end(), [](const auto& a, const auto& b) { return a.done < b.done; });

    violations found;
    const attempt* latest = nullptr;  // of the holders with an earlier accepted write: the last to ask
    auto next = by_end.begin();
    for (const auto& w : all) {
        for (; next != by_end.end() && next->done < w.begun; ++next) {
            if (latest == nullptr || next->by->asked > latest->asked) latest = next->by;
        }
        if (latest != nullptr && w.by->answered < latest->asked)
            found.push_back({"late_write",
                             "the resource accepted a write of an earlier holder after one of a later",
                             w.by->lock,
                             {latest->id, w.by->id},
                             w.done});
    }
    return found;
}

}  // namespace holdfast::chaos
