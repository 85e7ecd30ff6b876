#include "chaos/runner/survey.hpp"

#include "support/eventually.hpp"

#include <holdfast/holdfast.hpp>

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

namespace holdfast::chaos {

namespace {

using namespace std::chrono_literals;

bool may_stay(const std::string& key, const std::vector<run_lock>& locks) {
    return std::any_of(locks.begin(), locks.end(), [&](const run_lock& l) {
        return std::find(l.lasting.begin(), l.lasting.end(), key) != l.lasting.end();
    });
}

// A permit is free, or held, or expired and not yet reclaimed; any other is lost for good. Empty if none is
// lost, or the server keeps no number.
std::string lost_permits(test::redis_server& server, const run_lock& l) {
    const auto free = server.command({"GET", l.lasting.at(0)});
    // A server of a cluster refuses to answer for keys of other servers.
    if (free.type != test::redis_reply::kind::string) return {};
    const auto permits_of = [&](const std::string& member) {
        return l.kind == lock_kind::semaphore ? std::stoll(member.substr(member.rfind('|') + 1)) : 1;
    };
    auto all = std::stoll(free.text);
    for (const auto& member : server.command({"ZRANGE", l.lasting.at(1), "0", "-1"}).items)
        all += permits_of(member.text);
    if (all == l.row.permits) return {};
    return "\"" + l.row.name + "\" has " + std::to_string(all) + " permits and not " +
           std::to_string(l.row.permits);
}

std::string parties_of(const lock_info& seen) {
    std::string all = "left:";
    for (const auto& h : seen.holders)
        all += " holder " + h.owner + " of process " + std::to_string(h.pid) + ',';
    for (const auto& w : seen.queue)
        all += " waiter " + w.owner + " of process " + std::to_string(w.pid) + ", since " +
               std::to_string(w.waiting.value_or(std::chrono::milliseconds{0}).count()) + "ms,";
    all.pop_back();
    return all;
}

// A killed waiter stays in the queue until the next one asks for the lock, or releases it.
bool is_gone(const waiter_info& w) {
    return w.pid == 0 || (::kill(static_cast<pid_t>(w.pid), 0) != 0 && errno == ESRCH);
}

// What any store can tell.
std::vector<std::string> survey_by_inspection(const std::string& url, const std::vector<run_lock>& locks,
                                              std::chrono::milliseconds limit) {
    std::vector<std::string> wrong;
    client on{url};
    for (const auto& l : locks) {
        for (const auto& name : l.names()) {
            auto seen = admin::inspect(on, name);
            const auto is_left_alone = [&] {
                seen = admin::inspect(on, name);
                return seen.holders.empty() && std::all_of(seen.queue.begin(), seen.queue.end(), is_gone);
            };
            if (!test::eventually(limit, is_left_alone))
                wrong.push_back("the lock \"" + name + "\" has " + parties_of(seen));
            else if (l.row.model == model::counted && seen.count != l.row.permits)
                wrong.push_back("\"" + name + "\" has " +
                                (seen.count ? std::to_string(*seen.count) : std::string{"no number of"}) +
                                " permits and not " + std::to_string(l.row.permits));
        }
    }
    return wrong;
}

}  // namespace

std::vector<std::string> survey_locks(topology& servers, const std::vector<run_lock>& locks,
                                      std::chrono::milliseconds limit) {
    std::vector<std::string> wrong;
    if (servers.lock_servers().empty()) return survey_by_inspection(servers.direct_url(), locks, limit);
    for (auto* server : servers.lock_servers()) {
        for (const auto& key : server->keys()) {
            // -2: the key no longer exists.
            if (server->command({"PTTL", key}).number == -1 && !may_stay(key, locks))
                wrong.push_back("the key \"" + key + "\" would stay for ever");
        }
        for (const auto& l : locks) {
            for (const auto& name : l.names()) {
                if (may_stay(name, locks)) continue;
                // A server of a cluster refuses to answer for keys of other servers.
                if (!test::eventually(limit, [&] { return server->command({"EXISTS", name}).number == 0; }))
                    wrong.push_back("the lock \"" + name + "\" is still held");
            }
            if (l.row.model != model::counted) continue;
            // A client that was killed late in the round may hold a permit until its lease ends; the next
            // round does not know of it.
            const auto& out = l.lasting.at(1);
            const auto none_is_held = [&] {
                const auto now = std::chrono::system_clock::now().time_since_epoch() / 1ms;
                return server->command({"ZCOUNT", out, std::to_string(now), "+inf"}).number == 0;
            };
            if (!test::eventually(limit, none_is_held))
                wrong.push_back("permits of \"" + out + "\" are still held");
            // A permit may be released between the two commands.
            std::string lost;
            if (!test::eventually(limit, [&] { return (lost = lost_permits(*server, l)).empty(); }))
                wrong.push_back(std::move(lost));
        }
    }
    return wrong;
}

std::vector<std::string> survey_channels(topology& servers) {
    std::vector<std::string> wrong;
    for (auto* server : servers.lock_servers()) {
        const auto subscribed = [&] {
            std::vector<std::string> names;
            for (const auto* which : {"CHANNELS", "SHARDCHANNELS"}) {
                for (const auto& c : server->command({"PUBSUB", which}).items) {
                    // Sentinels talk to each other there.
                    if (c.text != "__sentinel__:hello") names.push_back(c.text);
                }
            }
            return names;
        };
        // The server notices closed connections when it looks.
        if (!test::eventually(test::patience, [&] { return subscribed().empty(); })) {
            for (const auto& name : subscribed()) wrong.push_back("a client still subscribes to " + name);
        }
    }
    return wrong;
}

}  // namespace holdfast::chaos
