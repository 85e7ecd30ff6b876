#include "support/sentinel_scene.hpp"

#include "support/eventually.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

namespace holdfast::test {

namespace {

constexpr auto operators_word = "operators-word";
constexpr auto sentinels_word = "sentinels-word";

redis_server::options server_options() {
    redis_server::options o;
    o.password = operators_word;
    o.users = {std::string{sentinel_scene::user} + " on >" + sentinel_scene::password + " ~* &* +@all"};
    o.debug_command = true;
    o.config = {std::string{"masterauth "} + operators_word, "repl-diskless-sync-delay 0",
                "repl-ping-replica-period 1", "replica-announce-ip 127.0.0.1", "repl-timeout 5"};
    return o;
}

redis_server::options sentinel_options(std::uint16_t master_port) {
    const std::string name = sentinel_scene::name;
    redis_server::options o;
    o.sentinel = true;
    o.password = sentinels_word;
    const std::string least =
        " &* -@all +auth +ping +info +client|setname +sentinel|master +sentinel|get-master-addr-by-name "
        "+subscribe +unsubscribe";
    o.users = {
        std::string{sentinel_scene::sentinel_user} + " on >" + sentinel_scene::sentinel_password + least,
        std::string{sentinel_scene::examiner} + " on >" + sentinel_scene::examiner_password + least +
            " +sentinel|replicas +sentinel|ckquorum"};
    o.config = {"sentinel monitor " + name + " 127.0.0.1 " + std::to_string(master_port) + " 2",
                "sentinel auth-pass " + name + " " + operators_word,
                std::string{"sentinel sentinel-pass "} + sentinels_word,
                "sentinel down-after-milliseconds " + name + " 800",
                "sentinel failover-timeout " + name + " 4000",
                "sentinel parallel-syncs " + name + " 2"};
    return o;
}

void debug(redis_server& sentinel, std::vector<std::string> words) {
    words.insert(words.begin(), {"SENTINEL", "DEBUG"});
    if (sentinel.command(words).is_error()) throw std::runtime_error{"SENTINEL DEBUG does not work"};
}

// The value after a name in a reply that alternates names and values.
std::string value_of(const redis_reply& pairs, const std::string& name) {
    for (std::size_t i = 0; i + 1 < pairs.items.size(); i += 2)
        if (pairs.items[i].text == name) return pairs.items[i + 1].text;
    return {};
}

// Empty when there is no answer: a sentinel closes the connections of a server whose role it changes.
redis_reply answer_of(redis_server& server, const std::vector<std::string>& words) {
    try {
        return server.command(words);
    } catch (const std::runtime_error&) {
        return {};
    }
}

bool says(redis_server& server, const std::string& line) {
    const auto info = answer_of(server, {"INFO", "replication"}).text;
    return info.find(line + "\r\n") != std::string::npos;
}

}  // namespace

sentinel_scene::sentinel_scene() {
    for (std::size_t i = 0; i < servers; ++i) {
        servers_.push_back(std::make_unique<watched_server>(server_options()));
        announce(i);
        if (i != master_) follow_master(i);
    }
    for (std::size_t i = 0; i < sentinels; ++i) {
        sentinels_.push_back(
            std::make_unique<redis_server>(sentinel_options(servers_[master_]->wire.port())));
        // These take seconds in production and tenths of a second here.
        debug(*sentinels_.back(),
              {"info-period", "100", "ping-period", "300", "ask-period", "100", "publish-period", "100",
               "tilt-period", "500", "slave-reconf-timeout", "2000", "min-link-reconnect-period", "1000"});
    }
    heal();
    // They know each other now. A sentinel that learns of no promotion within four periods reverts it, and
    // the leader of a failover checks only once a second whether the promotion has worked.
    for (const auto& s : sentinels_) debug(*s, {"publish-period", "1000"});
}

std::string sentinel_scene::url_of(const std::vector<std::uint16_t>& ports, const std::string& more) {
    std::string hosts;
    for (const auto port : ports)
        hosts += (hosts.empty() ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
    return std::string{"redis+sentinel://"} + user + ":" + password + "@" + hosts + "/" + name +
           "?sentinel_user=" + sentinel_user + "&sentinel_password=" + sentinel_password +
           (more.empty() ? "" : "&") + more;
}

std::vector<std::uint16_t> sentinel_scene::sentinel_ports() const {
    std::vector<std::uint16_t> ports;
    for (const auto& s : sentinels_) ports.push_back(s->port());
    return ports;
}

std::string sentinel_scene::url(const std::string& more) const { return url_of(sentinel_ports(), more); }

std::string sentinel_scene::url_of_examiner() const {
    auto text = url();
    const std::string least =
        std::string{"sentinel_user="} + sentinel_user + "&sentinel_password=" + sentinel_password;
    return text.replace(text.find(least), least.size(),
                        std::string{"sentinel_user="} + examiner + "&sentinel_password=" + examiner_password);
}

std::string sentinel_scene::address(std::size_t i) const {
    return "127.0.0.1:" + std::to_string(servers_.at(i)->wire.port());
}

void sentinel_scene::announce(std::size_t i) {
    server(i).command(
        {"CONFIG", "SET", "replica-announce-port", std::to_string(servers_.at(i)->wire.port())});
}

void sentinel_scene::follow_master(std::size_t i) {
    answer_of(server(i), {"REPLICAOF", "127.0.0.1", std::to_string(servers_.at(master_)->wire.port())});
}

void sentinel_scene::replicate() {
    // WAIT waits for the writes of its own connection, so it needs one.
    master().command({"SET", "scene:written", "1", "PX", "1"});
    if (master().command({"WAIT", std::to_string(servers - 1), "5000"}).number + 1 !=
        static_cast<std::int64_t>(servers))
        throw std::runtime_error{"the replicas are not in step\n" + report()};
}

void sentinel_scene::cut_replicas() {
    for (std::size_t i = 0; i < servers; ++i)
        if (i != master_) server(i).command({"CONFIG", "SET", "masterauth", "not-the-word"});
    master().command({"CLIENT", "KILL", "TYPE", "replica"});
}

void sentinel_scene::let_replicas_hear() {
    for (std::size_t i = 0; i < servers; ++i)
        answer_of(server(i), {"CONFIG", "SET", "masterauth", operators_word});
}

bool sentinel_scene::takes_itself_for_master(std::size_t i) {
    const auto role = answer_of(server(i), {"ROLE"}).items;
    return !role.empty() && role.front().text == "master";
}

std::size_t sentinel_scene::sentinels_that_name(std::size_t i) {
    const auto wanted = std::to_string(servers_.at(i)->wire.port());
    return static_cast<std::size_t>(std::count_if(sentinels_.begin(), sentinels_.end(), [&](const auto& s) {
        const auto answer = s->command({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name});
        // The first command returns the new address before the sentinel has switched to it; until then the
        // sentinel takes no further order.
        return answer.items.size() == 2 && answer.items[1].text == wanted &&
               value_of(s->command({"SENTINEL", "MASTER", name}), "port") == wanted;
    }));
}

bool sentinel_scene::no_failover_goes_on() {
    return std::all_of(sentinels_.begin(), sentinels_.end(), [](const auto& s) {
        return value_of(s->command({"SENTINEL", "MASTER", name}), "flags") == "master";
    });
}

bool sentinel_scene::find_master() {
    for (std::size_t i = 0; i < servers; ++i) {
        if (2 * sentinels_that_name(i) <= sentinels || !takes_itself_for_master(i)) continue;
        master_ = i;
        return true;
    }
    return false;
}

void sentinel_scene::begin_fail_over() {
    const bool begun = eventually(patience, [&] {
        return sentinels_.front()->command({"SENTINEL", "FAILOVER", name}).text == "OK";
    });
    if (!begun) throw std::runtime_error{"the sentinel begins no failover\n" + report()};
}

void sentinel_scene::fail_over() {
    const auto before = master_;
    // Sentinels give up a failover whose replica does not become the master in time.
    const bool done = eventually(patience, [&] {
        begin_fail_over();
        end_fail_over();
        return master_ != before;
    });
    if (!done) throw std::runtime_error{"failovers end without another master\n" + report()};
}

void sentinel_scene::end_fail_over() {
    const bool over = eventually(patience, [&] {
        return find_master() && sentinels_that_name(master_) == sentinels && no_failover_goes_on();
    });
    if (!over) throw std::runtime_error{"the failover does not end\n" + report()};
}

void sentinel_scene::await_failover() {
    const auto before = master_;
    const bool changed = eventually(patience, [&] {
        for (std::size_t i = 0; i < servers; ++i) {
            if (i == before || sentinels_that_name(i) != sentinels) continue;
            master_ = i;
            return true;
        }
        return false;
    });
    if (!changed) throw std::runtime_error{"no other server became the master\n" + report()};
}

void sentinel_scene::bring_back(std::size_t i) {
    wire_to(i).stall(false);
    server(i).resume();
    if (server(i).running()) return;
    server(i).start();
    announce(i);
}

void sentinel_scene::heal() {
    for (std::size_t i = 0; i < servers; ++i) bring_back(i);
    let_replicas_hear();
    // The sentinels choose the master and may change it meanwhile: a failover may be under way, and servers
    // on a busy machine take each other for dead.
    const bool healed = eventually(patience, [&] {
        if (!find_master() || sentinels_that_name(master_) != sentinels || !no_failover_goes_on())
            return false;
        for (std::size_t i = 0; i < servers; ++i) {
            // The sentinels would do this too, some seconds later.
            if (i != master_ && takes_itself_for_master(i)) follow_master(i);
        }
        return in_step() && known_to_sentinels();
    });
    if (!healed) throw std::runtime_error{"the scene does not get in order\n" + report()};
}

bool sentinel_scene::in_step() {
    const auto port = std::to_string(servers_.at(master_)->wire.port());
    for (std::size_t i = 0; i < servers; ++i) {
        auto& one = server(i);
        if (i == master_ ? !says(one, "connected_slaves:2")
                         : !says(one, "master_port:" + port) || !says(one, "master_link_status:up"))
            return false;
    }
    return true;
}

bool sentinel_scene::known_to_sentinels() {
    return std::all_of(sentinels_.begin(), sentinels_.end(), [&](const auto& s) {
        const auto master = s->command({"SENTINEL", "MASTER", name});
        const auto replicas = s->command({"SENTINEL", "REPLICAS", name}).items;
        return value_of(master, "flags") == "master" &&
               value_of(master, "port") == std::to_string(servers_.at(master_)->wire.port()) &&
               value_of(master, "num-other-sentinels") == std::to_string(sentinels - 1) &&
               replicas.size() == servers - 1 &&
               std::all_of(replicas.begin(), replicas.end(), [](const auto& r) {
                   return value_of(r, "flags") == "slave" && value_of(r, "master-link-status") == "ok";
               });
    });
}

std::string sentinel_scene::report() {
    std::ostringstream out;
    for (std::size_t i = 0; i < servers; ++i) {
        out << "server " << i << " at " << address(i) << (i == master_ ? " (the master)\n" : "\n")
            << answer_of(server(i), {"INFO", "replication"}).text;
    }
    for (const auto& s : sentinels_)
        out << answer_of(*s, {"SENTINEL", "MASTER", name}) << '\n'
            << answer_of(*s, {"SENTINEL", "REPLICAS", name}) << '\n';
    return out.str();
}

}  // namespace holdfast::test
