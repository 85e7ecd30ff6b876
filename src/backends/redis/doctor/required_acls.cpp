#include "backends/redis/doctor/required_acls.hpp"

#include "backends/redis/scripts/scripts.hpp"
#include "backends/redis/wake_ups/wake_channels.hpp"
#include "backends/redis/wire/keys.hpp"
#include "backends/redis/wire/script_commands.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::redis_backend::doctor {

namespace {

using backend::kind;
using backend::milliseconds;

struct used_script {
    const redis_scripts::script& script;
    importance how = importance::needed;
};

void merge(std::vector<std::pair<std::string, importance>>& into, const std::string& command,
           importance how) {
    const auto there =
        std::find_if(into.begin(), into.end(), [&](const auto& c) { return c.first == command; });
    if (there == into.end()) {
        into.emplace_back(command, how);
    } else {
        there->second = std::max(there->second, how);
    }
}

required_acls made(kind of, std::string_view shown, std::initializer_list<used_script> scripts,
                   std::initializer_list<std::string_view> commands, std::vector<resource> keys,
                   resource channel) {
    required_acls n{of, std::string{shown}, {}, {}, std::move(keys), std::move(channel)};
    for (const auto* command : {"EVAL", "EVALSHA"}) n.commands.emplace_back(command, importance::needed);
    for (const auto command : commands) merge(n.commands, std::string{command}, importance::needed);
    for (const auto& used : scripts) {
        for (const auto& [command, then] : commands_of(used.script.text)) {
            const auto how =
                then == script_command::on_refusal::fails ? importance::needed : importance::helps;
            merge(n.commands, command, std::min(how, used.how));
        }
    }
    merge(n.commands, "SUBSCRIBE", importance::helps);
    merge(n.commands, "PUBLISH", importance::helps);  // scripts get this or SPUBLISH as an argument
    merge(n.commands, "WAIT", importance::option);    // replication::at_least
    return n;
}

resource exactly(std::string name, importance how = importance::needed) {
    auto pattern = as_pattern(name);
    return {std::move(name), std::move(pattern), how};
}

// A name with any text between `prefix` and `suffix`: an owner, an operation.
resource beginning(const std::string& prefix, const std::string& suffix,
                   importance how = importance::needed) {
    return {prefix + "0" + suffix, as_pattern(prefix) + "*" + as_pattern(suffix), how};
}

}  // namespace

std::string as_pattern(std::string_view name) {
    std::string pattern;
    for (const char c : name) {
        if (std::string_view{"*?[]\\^"}.find(c) != std::string_view::npos) {
            pattern.append(1, '\\').append(1, c);
        } else {
            pattern += c > ' ' && c < 127 && c != '"' && c != '\'' ? c : '?';
        }
    }
    return pattern;
}

namespace {

std::vector<required_acls> required_acls_of_all_kinds(const std::string& name) {
    namespace s = redis_scripts;
    using enum importance;
    const resource wake{std::string{wake_prefix} + base::client_id::make().base64url(),
                        std::string{wake_prefix} + "*", helps};
    const auto announced = [&](std::string channel) { return exactly(std::move(channel), helps); };
    const auto lock = exactly(name);
    const auto queue = exactly(helper_key('q', name), helps);
    const auto redisson = announced(redisson_channel(name));
    const auto shared_channel = announced(redisson_prefixed("redisson_rwlock", name));
    const auto mark = beginning(redisson_suffixed(name, ""), ":rwlock_timeout:1");
    const auto operation = beginning(operation_key(name, ""), "");
    const auto freed = announced(redisson_prefixed("redisson_sc", name));
    std::vector<required_acls> all;
    all.push_back(made(kind::native, type_name(kind::native),
                       {{s::mutex_take},
                        {s::mutex_enqueue, helps},
                        {s::mutex_release_and_hand_off, helps},
                        {s::mutex_delete_if_owner},
                        {s::mutex_renew}},
                       {"SET", "GET"}, {lock, queue}, wake));
    all.push_back(made(kind::native_fenced, "mutex with fences",
                       {{s::mutex_take_fenced},
                        {s::mutex_enqueue, helps},
                        {s::mutex_release_and_hand_off, helps},
                        {s::mutex_delete_if_owner},
                        {s::mutex_renew}},
                       {}, {lock, exactly(helper_key('f', name)), queue}, wake));
    all.push_back(made(kind::recursive, type_name(kind::recursive),
                       {{s::recursive_acquire}, {s::recursive_release}, {s::recursive_renew}}, {}, {lock},
                       redisson));
    all.push_back(made(kind::recursive_fenced, type_name(kind::recursive_fenced),
                       {{s::recursive_acquire}, {s::recursive_release}, {s::recursive_renew}}, {},
                       {lock, exactly(redisson_prefixed("redisson_lock_token", name))}, redisson));
    all.push_back(made(
        kind::fair, type_name(kind::fair), {{s::fair_acquire}, {s::fair_release}, {s::recursive_renew}}, {},
        {lock, exactly(redisson_prefixed("redisson_lock_queue", name)),
         exactly(redisson_prefixed("redisson_lock_timeout", name)), exactly(helper_key('d', name), helps)},
        beginning(redisson_channel(name) + ":", "", helps)));
    all.push_back(
        made(kind::shared_read, type_name(kind::shared_read),
             {{s::shared_acquire}, {s::shared_release}, {s::shared_read_renew}, {s::recursive_renew}}, {},
             {lock, mark}, shared_channel));
    all.push_back(made(kind::semaphore, type_name(kind::semaphore), {{s::semaphore}, {s::semaphore_renew}},
                       {}, {lock, exactly(helper_key('p', name)), operation}, freed));
    all.push_back(made(kind::permit_semaphore, type_name(kind::permit_semaphore),
                       {{s::semaphore}, {s::semaphore_renew}}, {},
                       {lock, exactly(redisson_suffixed(name, "timeout")), operation}, freed));
    all.push_back(made(kind::latch, type_name(kind::latch), {{s::latch}}, {"GET"}, {lock, operation},
                       announced("redisson_countdownlatch__channel__{" + name + "}")));
    return all;
}

}  // namespace

std::vector<required_acls> required_acls_of(const std::string& name,
                                            const std::optional<backend::membership>& part) {
    auto all = required_acls_of_all_kinds(name);
    if (!part) return all;
    std::erase_if(all, [&](const required_acls& n) {
        return std::find(part->kinds.begin(), part->kinds.end(), n.of) == part->kinds.end();
    });
    for (auto& n : all) {
        // Removes WAIT, too: it is for the replicas of a single server.
        std::erase_if(n.commands, [](const auto& c) { return c.second < importance::needed; });
        std::erase_if(n.keys, [](const resource& key) { return key.how < importance::needed; });
        n.channel.reset();
    }
    return all;
}

namespace {

required_acls for_run_id(std::string used_by, std::string without) {
    required_acls n{{}, std::move(used_by), std::move(without), {}, {}, {}};
    n.commands.emplace_back("INFO", importance::needed);
    return n;
}

void add_script(required_acls& to, const redis_scripts::script& used, importance how) {
    for (const auto* command : {"EVAL", "EVALSHA"}) merge(to.commands, command, how);
    for (const auto& [command, _] : commands_of(used.text)) merge(to.commands, command, how);
}

required_acls for_mark(const backend::membership& part) {
    required_acls n{{}, part.of, "this member has no vote", {}, {exactly(part.mark.str())}, {}};
    n.commands.emplace_back("SET", importance::needed);
    add_script(n, redis_scripts::mutex_renew, importance::needed);
    return n;
}

required_acls for_note(std::string used_by, milliseconds grace) {
    required_acls n{{},
                    std::move(used_by),
                    "after a failover each client waits for " + base::to_text(grace) +
                        " from when it first met the new master, also those that come long after",
                    {},
                    {exactly(std::string{promotion_mark}, importance::helps)},
                    {}};
    add_script(n, redis_scripts::promoted, importance::helps);
    return n;
}

}  // namespace

std::vector<required_acls> own_required_acls(const backend::examine_request& wanted,
                                             const quarantine_rules& quarantine) {
    std::vector<required_acls> all;
    if (const auto& part = wanted.part) {
        all.push_back(for_run_id(part->of,
                                 "no client can know whether this member was restarted, or is another one "
                                 "again, so it has no vote"));
        all.push_back(for_mark(*part));
        if (part->grace) all.push_back(for_note(part->of, *part->grace));
    }
    if (quarantine.wanted())
        all.push_back(
            for_run_id(quarantine.after_failover ? "failover=grace" : "restarts=quarantined",
                       "the server does not say which run of it this is, so no lock is granted at all"));
    if (quarantine.after_failover) all.push_back(for_note("failover=grace", quarantine.longest_lease));
    return all;
}

}  // namespace holdfast::redis_backend::doctor
