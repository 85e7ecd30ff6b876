#include "chaos/runner/nemesis.hpp"

#include "chaos/history/recorder.hpp"
#include "chaos/runner/order.hpp"

#include <holdfast/holdfast.hpp>

#include <algorithm>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace holdfast::chaos {

namespace {

struct step {
    milliseconds at;
    std::size_t of;  // index into the plan
    bool begins;
};

std::vector<step> steps_of(const std::vector<planned>& all) {
    std::vector<step> steps;
    for (std::size_t i = 0; i < all.size(); ++i) {
        steps.push_back({all[i].from, i, true});
        steps.push_back({all[i].to, i, false});
    }
    // At the same time, a fault ends before the next one begins; a fault that takes no time begins first.
    std::stable_sort(steps.begin(), steps.end(), [](const step& a, const step& b) { return a.at < b.at; });
    return steps;
}

bool any_command(const std::vector<std::string>&) { return true; }

}  // namespace

void nemesis::carry_out(const std::vector<planned>& all, milliseconds length,
                        const std::function<bool()>& enough) {
    const auto start = std::chrono::steady_clock::now();
    // False: `enough` ends the plan.
    const auto sleep_until = [&](milliseconds at) {
        constexpr milliseconds slice{50};
        for (;;) {
            const auto left = start + at - std::chrono::steady_clock::now();
            if (enough()) return false;
            if (left <= milliseconds{0}) return true;
            std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(left, slice));
        }
    };
    open_.clear();
    bool going = true;
    for (const auto& s : steps_of(all)) {
        going = going && sleep_until(s.at);
        const auto& p = all[s.of];
        if (kind_of(p.what) == target_kind::all_servers) end_faults_of_single_servers(all);
        if (s.begins) {
            if (!going || !possible(p)) continue;
            open_[s.of] = done_.size();
            fault f;
            f.what = describe(p);
            f.from = boot_time();
            f.to = never;
            f.forgets = forgets(p.what);
            f.foreign = p.what == trouble::foreign_lock;
            begin(p, f);
            done_.push_back(std::move(f));
        } else if (const auto begun = open_.find(s.of); begun != open_.end()) {
            if (possible(p)) end(p);
            done_[begun->second].to = boot_time();
            open_.erase(begun);
        }
    }
    if (going) (void)sleep_until(length);
}

void nemesis::end_faults_of_single_servers(const std::vector<planned>& all) {
    std::erase_if(open_, [&](const auto& begun) {
        const auto& p = all[begun.first];
        const auto kind = kind_of(p.what);
        if (kind != target_kind::wire && kind != target_kind::server) return false;
        if (possible(p)) end(p);
        done_[begun.second].to = boot_time();
        return true;
    });
}

std::vector<fault> nemesis::take_faults() { return std::exchange(done_, {}); }

bool nemesis::possible(const planned& p) const {
    switch (kind_of(p.what)) {
        case target_kind::wire:
        case target_kind::server: return servers_.is_available(p.target);
        case target_kind::lock: return silent_.empty();
        default: return true;
    }
}

void nemesis::begin(const planned& p, fault& f) {
    using enum trouble;
    const auto link = [&]() -> test::fault_proxy& { return *servers_.links().at(p.target); };
    const auto wire = [&]() -> test::wire& { return *servers_.wires().at(p.target); };
    const auto server = [&]() -> test::redis_server& { return *servers_.servers().at(p.target); };
    switch (p.what) {
        case client_stops: clients_.stop(p.target); break;
        case client_killed: f.killed = clients_.kill(p.target); break;
        case link_cut: link().cut_all(); break;
        case link_stalls: link().stall(); break;
        case link_slow: link().delay(milliseconds{p.amount}); break;
        case link_refuses:
            link().refuse_new(true);
            link().cut_all();
            break;
        case reply_lost: link().drop_reply_of(any_command, static_cast<int>(p.amount)); break;
        case command_lost: link().drop_command(any_command, static_cast<int>(p.amount)); break;
        case messages_lost: link().swallow_messages(true); break;
        case commands_held: link().hold_commands_after(milliseconds{p.amount}); break;
        case server_stops:
            silent_.insert(p.target);
            server().pause();
            break;
        case server_killed:
        case server_emptied:
            silent_.insert(p.target);
            server().stop();
            break;
        // No command could end it: that command would be paused too.
        case clients_paused:
            silent_.insert(p.target);
            order(server(), {"CLIENT", "PAUSE", std::to_string((p.to - p.from).count()), "ALL"});
            break;
        case scripts_flushed: order(server(), {"SCRIPT", "FLUSH"}); break;
        case connections_shut:
            order(server(), {"CLIENT", "KILL", "TYPE", p.amount == 0 ? "normal" : "pubsub"});
            break;
        case memory_full: order(server(), {"CONFIG", "SET", "maxmemory", "1"}); break;
        case channels_denied: order(server(), {"ACL", "SETUSER", "default", "resetchannels"}); break;
        case wire_cut: wire().cut_all(); break;
        case wire_stalls: wire().stall(true); break;
        case wire_cut_soon: wire().cut_after(p.amount); break;
        case holder_evicted: evict_from(p.target, f); break;
        case key_deleted:
            f.struck = static_cast<std::int32_t>(p.target);
            servers_.remove(keys_.at(p.target));
            break;
        case failover:
        case master_killed:
        case master_stopped:
        case master_cut_off:
        case replicas_cut_then_lost:
        case slot_moves:
        case write_held:
        case foreign_lock:
        case follower_cut_off:
        case client_cut_off:
        case quorum_lost:
        case row_held:
        case database_stopped:
        case database_killed:
        case session_crashed:
        case sessions_ended:
        case all_stopped:
        case mode_changes:
        case mode_keeps_changing: servers_.begin(p); break;
    }
}

// A hold that may have been evicted is not judged by what is not known of it.
void nemesis::evict_from(unsigned lock, fault& f) try {
    // Threads that hold by lock() do not know their owner token, by which a hold is found in the history.
    if (keys_.at(lock).starts_with("changing")) return;
    const auto token_of = [](const holder_info& h) { return std::hash<std::string>{}(h.owner); };
    config how;
    how.url = servers_.direct_url();
    how.answer_timeout = milliseconds{500};
    client on{how};
    admin::evict_options only;
    f.evicts = static_cast<std::int32_t>(lock);
    for (const auto& h : admin::inspect(on, keys_.at(lock)).holders) {
        only.owners.push_back(h.owner);
        f.evicted.push_back({token_of(h)});
    }
    if (only.owners.empty()) return;
    for (const auto& one : holdfast::admin::evict(on, keys_.at(lock), only).from) {
        const auto entry = std::find_if(f.evicted.begin(), f.evicted.end(),
                                        [&](const auto& e) { return e.token == token_of(one.who); });
        if (entry == f.evicted.end()) continue;
        entry->gave_up = one.how == admin::evicted_holder::way::gave_up;
        if (one.may_go_on) entry->may_go_on = in_ns(*one.may_go_on);
    }
} catch (const error&) {  // the server does not answer
}

void nemesis::end(const planned& p) {
    using enum trouble;
    const auto link = [&]() -> test::fault_proxy& { return *servers_.links().at(p.target); };
    const auto server = [&]() -> test::redis_server& { return *servers_.servers().at(p.target); };
    switch (p.what) {
        case client_stops: clients_.go_on(p.target); break;
        case client_killed: clients_.replace(p.target); break;
        case link_stalls: link().resume(); break;
        case link_slow: link().delay(milliseconds{0}); break;
        case link_refuses: link().refuse_new(false); break;
        case reply_lost:
        case command_lost: link().clear_rules(); break;
        case messages_lost: link().swallow_messages(false); break;
        case commands_held: link().pass_held_commands(); break;
        case server_stops: server().resume(); break;
        case server_killed:
        case server_emptied: server().start(); break;
        // The answer comes when the pause is over.
        case clients_paused: order(server(), {"PING"}); break;
        case memory_full: order(server(), {"CONFIG", "SET", "maxmemory", "0"}); break;
        case channels_denied: order(server(), {"ACL", "SETUSER", "default", "allchannels"}); break;
        case wire_stalls: servers_.wires().at(p.target)->stall(false); break;
        case failover:
        case master_killed:
        case master_stopped:
        case master_cut_off:
        case replicas_cut_then_lost:
        case slot_moves:
        case write_held:
        case foreign_lock:
        case follower_cut_off:
        case client_cut_off:
        case quorum_lost:
        case row_held:
        case database_stopped:
        case database_killed:
        case session_crashed:
        case sessions_ended:
        case all_stopped:
        case mode_changes:
        case mode_keeps_changing: servers_.end(p); break;
        case link_cut:
        case scripts_flushed:
        case connections_shut:
        case wire_cut:
        case wire_cut_soon:
        case key_deleted:
        case holder_evicted: break;
    }
    if (p.what == server_stops || p.what == server_killed || p.what == server_emptied ||
        p.what == clients_paused)
        silent_.erase(p.target);
}

}  // namespace holdfast::chaos
