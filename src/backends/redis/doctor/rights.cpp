#include "backends/redis/doctor/rights.hpp"

#include "backends/redis/scripts/scripts.hpp"
#include "base/random.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

namespace holdfast::redis_backend::doctor {

namespace {

using backend::kind;
using named_need = missing_right::need;

named_need need_for(const required_acls& n, importance how) { return {n.of, n.shown, n.without, how}; }

std::string lower(std::string_view text) {
    std::string out{text};
    std::transform(out.begin(), out.end(), out.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

// A subcommand has its own right.
std::string right_of(std::string_view command) {
    return command == "PUBSUB" ? "pubsub|numsub" : lower(command);
}

bool says(const std::string& verdict, std::string_view text) {
    return verdict.find(text) != std::string::npos;
}

// Whether the verdict refuses the command, not its key or channel. The texts are those of Redis 7.0, of 7.2
// and Valkey, and of commands that scripts may not run at all.
bool refuses_command(const std::string& verdict) {
    return says(verdict, "can't run") || says(verdict, "permissions to run") ||
           says(verdict, "not allowed from script");
}

}  // namespace

// Each call has as many words as the command requires: the server's check of rights relies on that.
std::vector<std::string> example_of(std::string_view command, const std::string& key,
                                    const std::string& channel) {
    using words = std::vector<std::string>;
    static const std::map<std::string_view, words, std::less<>> rest{
        {"SET", {"", "XX"}},
        {"GET", {}},
        {"DEL", {}},
        {"EXISTS", {}},
        {"GETRANGE", {"0", "0"}},
        {"DECRBY", {"x"}},
        {"INCRBY", {"x"}},
        {"PTTL", {}},
        {"PEXPIRE", {"1000"}},
        {"PEXPIREAT", {"1000"}},
        {"TYPE", {}},
        {"MGET", {}},
        {"HDEL", {"f"}},
        {"HEXISTS", {"f"}},
        {"HGET", {"f"}},
        {"HGETALL", {}},
        {"HKEYS", {}},
        {"HLEN", {}},
        {"HRANDFIELD", {"1"}},
        {"HSET", {"f", "v"}},
        {"HSETNX", {"f", "v"}},
        {"HSTRLEN", {"f"}},
        {"STRLEN", {}},
        {"LINDEX", {"0"}},
        {"LPOP", {}},
        {"LPOS", {"e"}},
        {"LRANGE", {"0", "0"}},
        {"LREM", {"0", "e"}},
        {"RPUSH", {"e"}},
        {"ZADD", {"XX", "1", "m"}},
        {"ZCOUNT", {"0", "0"}},
        {"ZINCRBY", {"x", "m"}},
        {"ZPOPMIN", {}},
        {"ZRANGE", {"0", "0"}},
        {"ZRANGEBYSCORE", {"0", "0"}},
        {"ZRANK", {"m"}},
        {"ZREM", {"m"}},
        {"ZSCORE", {"m"}},
    };
    if (command == "TIME") return {"TIME"};
    if (command == "INFO") return {"INFO", "server"};
    if (command == "WAIT") return {"WAIT", "0", "1"};
    if (command == "PUBSUB") return {"PUBSUB", "NUMSUB", channel};
    if (command == "PUBLISH") return {"PUBLISH", channel, ""};
    if (command == "SUBSCRIBE") return {"SUBSCRIBE", channel};
    // Without keys, the question is only about the command itself.
    if (command == "EVAL") return {"EVAL", "return 0", "0"};
    if (command == "EVALSHA") return {"EVALSHA", std::string{redis_scripts::rights.sha1}, "0"};
    const auto known = rest.find(command);
    if (known == rest.end()) return {};
    words call{std::string{command}, key};
    call.insert(call.end(), known->second.begin(), known->second.end());
    return call;
}

rights_question::rights_question(const std::optional<lock_name>& name, const std::vector<required_acls>& own,
                                 const std::optional<backend::membership>& part)
    : named_(name.has_value()),
      required_(required_acls_of(
          name ? name->str() : "holdfast:doctor:" + base::client_id::make().base64url(), part)),
      words_{"EVAL", std::string{redis_scripts::rights.text}, "0"} {
    required_.insert(required_.end(), own.begin(), own.end());
    add_commands();
    add_keys();
    add_channels();
}

void rights_question::add(probe p, const std::vector<std::string>& call) {
    probes_.push_back(std::move(p));
    words_.push_back(std::to_string(call.size()));
    words_.insert(words_.end(), call.begin(), call.end());
}

void rights_question::add_commands() {
    std::map<std::string, std::vector<named_need>> by_command;
    for (const auto& n : required_)
        for (const auto& [command, how] : n.commands) by_command[command].push_back(need_for(n, how));
    // No key and no channel has this name: a command that the server runs after all does nothing.
    const auto absent = "holdfast:doctor:" + base::client_id::make().base64url();
    for (auto& [command, by] : by_command) {
        // add_channels() asks about these.
        if (command == "PUBLISH" || command == "SUBSCRIBE") continue;
        add({probe::what::command, right_of(command), "+" + right_of(command), std::move(by)},
            example_of(command, absent, absent));
    }
}

void rights_question::add_keys() {
    // Scripts name their keys, and the user has the right to EVAL: this question runs by it.
    if (!named_)
        add({probe::what::any_key, "", "", {}},
            {"EVAL", "return 0", "1", required_.front().keys.front().name});
    std::map<std::string, std::pair<resource, std::vector<named_need>>> by_key;
    for (const auto& n : required_) {
        if (!named_ && n.of) continue;
        for (const auto& key : n.keys) {
            auto& place = by_key[key.name];
            place.first = key;
            place.second.push_back(need_for(n, key.how));
        }
    }
    for (auto& [name, key] : by_key)
        add({probe::what::key, name, "~" + key.first.pattern, std::move(key.second)},
            {"EVAL", "return 0", "1", name});
    for (const auto& n : required_) {
        if (!named_ || !n.of) continue;  // the client uses its own keys one by one
        std::vector<std::string> call{"EVAL", "return 0", std::to_string(n.keys.size())};
        for (const auto& key : n.keys) call.push_back(key.name);
        add({probe::what::all_keys, n.shown, "(" + all_rules(*n.of) + ")", {need_for(n, importance::needed)}},
            call);
    }
}

void rights_question::add_channels() {
    std::map<std::string, std::pair<resource, std::vector<named_need>>> by_channel;
    for (const auto& n : required_) {
        if (!n.channel || (!named_ && n.channel->name != required_.front().channel->name)) continue;
        auto& place = by_channel[n.channel->name];
        place.first = *n.channel;
        place.second.push_back(need_for(n, importance::helps));
    }
    for (const auto& [name, channel] : by_channel) {
        const auto rule = "&" + channel.first.pattern;
        add({probe::what::publish, name, rule, channel.second}, example_of("PUBLISH", {}, name));
        add({probe::what::subscribe, name, rule, channel.second}, example_of("SUBSCRIBE", {}, name));
    }
}

// Reads the verdicts on the probes one after another.
class rights_question::reader {
  public:
    void read(const probe& p, const std::string& verdict) {
        if (p.kind == probe::what::publish) channel_refused_ = says(verdict, "channel");
        if (verdict.empty()) return;
        const bool unknown = verdict == "unknown";
        switch (p.kind) {
            case probe::what::command: return read_command(p, unknown, verdict);
            case probe::what::any_key: keys_differ_ = true; return;
            case probe::what::key: return read_key(p);
            case probe::what::all_keys: return read_all_keys(p);
            case probe::what::publish: return read_publish(p, unknown);
            case probe::what::subscribe: return read_subscribe(p, unknown);
        }
    }
    [[nodiscard]] answer result() && {
        answer a;
        a.keys_differ = keys_differ_;
        for (auto& [_, right] : missing_) a.missing.push_back(std::move(right));
        return a;
    }

  private:
    using lack = missing_right::what;

    void read_command(const probe& p, bool unknown, const std::string& verdict) {
        if (unknown)
            add(lack::unknown_command, p.name, "", p.needed_by);
        else if (refuses_command(verdict))
            add(lack::command, p.name, p.rule, p.needed_by);
    }
    void read_key(const probe& p) {
        add(lack::key, p.name, p.rule, p.needed_by);
        for (const auto& need : p.needed_by) keys_missing_.insert(need.shown);
    }
    void read_all_keys(const probe& p) {
        if (!keys_missing_.contains(p.needed_by.front().shown))
            add(lack::selector, p.name, p.rule, p.needed_by);
    }
    void read_publish(const probe& p, bool unknown) {
        if (unknown)
            add(lack::unknown_command, "publish", "", p.needed_by);
        else if (channel_refused_)
            add(lack::channel, p.name, p.rule, p.needed_by);
        else
            add(lack::command, "publish", "+publish", p.needed_by);
    }
    // Scripts cannot subscribe, so the verdict does not show what is refused. A channel that is refused for
    // PUBLISH is refused here, too.
    void read_subscribe(const probe& p, bool unknown) {
        if (unknown)
            add(lack::unknown_command, "subscribe", "", p.needed_by);
        else if (!channel_refused_)
            add(lack::command, "subscribe", "+subscribe", p.needed_by);
    }

    void add(lack what, const std::string& name, const std::string& rule, const std::vector<named_need>& by) {
        auto& right = missing_[{what, name}];
        right.kind = what;
        right.name = name;
        right.rule = rule;
        for (const auto& need : by) {
            const auto same = [&](const auto& other) {
                return other.of == need.of && other.shown == need.shown && other.without == need.without;
            };
            if (std::none_of(right.needed_by.begin(), right.needed_by.end(), same))
                right.needed_by.push_back(need);
        }
    }

    std::map<std::pair<lack, std::string>, missing_right> missing_;
    std::set<std::string> keys_missing_;  // by required_acls::shown
    bool channel_refused_ = false;        // for PUBLISH, the probe just before SUBSCRIBE
    bool keys_differ_ = false;
};

rights_question::answer rights_question::read(const std::vector<std::string>& verdicts) const {
    const bool none_told = !verdicts.empty() && std::all_of(verdicts.begin(), verdicts.end(),
                                                            [](const auto& v) { return v == "unknown"; });
    if (none_told) return {.missing = {}, .cannot_tell = true};
    reader all;
    for (std::size_t i = 0; i < std::min(verdicts.size(), probes_.size()); ++i)
        all.read(probes_[i], verdicts[i]);
    return std::move(all).result();
}

std::string rights_question::all_rules(kind of) const {
    std::string commands, keys, channels;
    for (const auto& n : required_) {
        if (n.of && *n.of != of) continue;
        for (const auto& [command, how] : n.commands) {
            const auto rule = "+" + right_of(command) + " ";
            if (commands.find(rule) == std::string::npos) commands += rule;
        }
        for (const auto& key : n.keys) keys.append("~").append(key.pattern).append(" ");
        if (n.channel) channels.append("&").append(n.channel->pattern);
    }
    return commands + keys + channels;
}

}  // namespace holdfast::redis_backend::doctor
