#include "chaos/runner/locks.hpp"

#include <algorithm>
#include <stdexcept>

namespace holdfast::chaos {

std::vector<run_lock> locks_of(std::string_view subject, std::string_view topology) {
    using enum lock_kind;
    if (subject != "holdfast") return {{scheme, {"lock0"}}, {scheme, {"lock1"}}};
    // The first ones are those whose keys may be deleted.
    std::vector<run_lock> all{
        {mutex, {"mutex0"}},
        {mutex, {"mutex1"}},
        {fenced, {"fenced0", model::exclusive, true}},
    };
    const auto add = [&](run_lock l) { all.push_back(std::move(l)); };
    // A redlock has the mutex alone. Lock files neither count nor have an order.
    const bool files = topology == "file";
    // Nor can they change their store.
    const bool joint = topology.starts_with("joint");
    if (topology != "quorum" && !files) {
        add({recursive, {"recursive0", model::reentrant}});
        for (const auto* name : {"changing0", "changing1", "changing2"})
            add({changing, {name, model::reentrant}});
    }
    if (topology != "quorum" && !files && !joint) {
        add({redisson_fenced,
             {"redisson_fenced0", model::reentrant, true},
             {"redisson_lock_token:{redisson_fenced0}"}});
        add({fair,
             {"fair0", model::reentrant, false, 1, true},
             {"redisson_lock_queue:{fair0}", "redisson_lock_timeout:{fair0}"}});
    }
    add({tasks, {"tasks0"}});
    add({multi, {"multi0"}, {}, {"multi0.a", "multi0.b"}});
    if (topology == "quorum") {
        for (auto& l : all) l.row.by_votes = true;
        return all;
    }
    add({shared, {"shared0", model::shared}});
    add({semaphore, {"semaphore0", model::counted, false, 3}, {"semaphore0", "holdfast:p1:{semaphore0}"}});
    if (files) {
        for (auto& l : all) l.row.ends_with_process = true;
        return all;
    }
    add({permit_semaphore, {"permits0", model::counted, false, 2}, {"permits0", "{permits0}:timeout"}});
    if (joint) {
        for (auto& l : all) l.row.told_early = true;  // one that cannot follow the mode
        return all;
    }
    add({latch, {"latch0", model::latch}});
    // Where servers fail over: a lock without replicas, which promises its fences alone.
    if (topology != "single" && topology != "sqlite" && topology != "zookeeper")
        add({fenced, {"besteffort0", model::exclusive, true, 1, false, true}});
    return all;
}

std::vector<std::size_t> places_of(const std::vector<run_lock>& locks, std::string_view text) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < locks.size(); ++i) {
        if (locks[i].row.name.find(text) != std::string::npos) places.push_back(i);
    }
    if (places.empty()) throw std::runtime_error{"no lock has \"" + std::string{text} + "\" in its name"};
    return places;
}

unsigned locks_with_deletable_keys(const std::vector<run_lock>& locks) {
    const auto end = std::find_if(locks.begin(), locks.end(), [](const run_lock& l) {
        return l.row.model != model::exclusive && l.row.model != model::reentrant;
    });
    const auto known = std::find_if(locks.begin(), end, [](const run_lock& l) { return !l.members.empty(); });
    return static_cast<unsigned>(known - locks.begin());
}

}  // namespace holdfast::chaos
