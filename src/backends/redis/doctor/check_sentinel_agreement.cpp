// All sentinels together: whether clients find the master through them.
#include "backends/redis/doctor/sentinel_group.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace holdfast::redis_backend::doctor {

namespace {

void append_to(std::string& list, const std::string& one) {
    list.append(list.empty() ? "" : "; ").append(one);
}

std::string of_all(std::size_t part, std::size_t all) {
    return std::to_string(part) + " of " + std::to_string(all) + (all == 1 ? " sentinel" : " sentinels");
}

void check_reach(const sentinel_group& w, report& r) {
    std::string silent;
    std::size_t there = 0;
    for (const auto& one : w.sentinels) {
        if (const auto* no = std::get_if<backend::failure>(&one.found))
            append_to(silent, one.address + " (" + no->in_one() + ")");
        else
            ++there;
    }
    const auto all = w.sentinels.size();
    if (there == all)
        return r.ok("sentinel-reach",
                    all == 1 ? "the sentinel answers" : "all " + std::to_string(all) + " sentinels answered");
    const auto found = of_all(there, all) + " answered; not there: " + silent;
    if (there < all / 2 + 1)
        return r.danger("sentinel-reach", found + "; without a majority no client finds the master");
    r.warning("sentinel-reach", found);
}

void check_agreement(const sentinel_group& w, report& r) {
    std::map<std::string, std::string> named_by;  // a master's address, and the sentinels that name it
    std::map<std::string, std::size_t> votes;
    std::size_t answered = 0;
    for (const auto& one : w.sentinels) {
        const auto* const s = std::get_if<snapshot>(&one.found);
        const auto* const master = s == nullptr ? nullptr : s->watched_master.reply();
        if (master == nullptr) continue;
        const auto port = whole(named_value(*master, "port")).value_or(0);
        const auto address = redis::address_text(
            redis::host_port{std::string{named_value(*master, "ip")}, static_cast<std::uint16_t>(port)});
        named_by[address].append(named_by[address].empty() ? "" : ", ").append(one.address);
        ++votes[address];
        ++answered;
    }
    if (answered == 0) return r.unknown("sentinel-agreement", "no sentinel names the master");
    std::string list, most;
    for (const auto& [address, by] : named_by) {
        append_to(list, address + " by " + by);
        if (votes[address] * 2 > w.sentinels.size()) most = address;
    }
    if (most.empty())
        return r.danger("sentinel-agreement", "no majority names one master: named are " + list);
    if (!w.in_use.empty() && w.in_use != most)
        return r.danger("sentinel-agreement",
                        "most sentinels name " + most + ", and locks are asked of " + w.in_use);
    if (named_by.size() > 1)
        return r.warning("sentinel-agreement", "not all name the same master: named are " + list);
    r.ok("sentinel-agreement", of_all(answered, w.sentinels.size()) + " name " + most);
}

// Compares the sentinels of the URL with all that exist.
void check_list(const sentinel_group& w, report& r) {
    std::int64_t most = 0;
    for (const auto& one : w.sentinels) {
        const auto* const s = std::get_if<snapshot>(&one.found);
        const auto* const master = s == nullptr ? nullptr : s->watched_master.reply();
        if (master == nullptr) continue;
        if (const auto others = whole(named_value(*master, "num-other-sentinels")))
            most = std::max(most, *others + 1);
    }
    if (most == 0) return r.unknown("sentinel-list", "no sentinel tells how many there are");
    const auto given = static_cast<std::int64_t>(w.sentinels.size());
    const auto found =
        "the URL names " + std::to_string(given) + ", and the sentinels know of " + std::to_string(most);
    if (given != most) return r.warning("sentinel-list", found);
    r.ok("sentinel-list", found);
}

}  // namespace

std::vector<finding> judge(const sentinel_group& w) {
    report r{"the sentinels of \"" + w.master + "\""};
    check_reach(w, r);
    check_agreement(w, r);
    check_list(w, r);
    return std::move(r).findings();
}

}  // namespace holdfast::redis_backend::doctor
