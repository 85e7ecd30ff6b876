// The rights that the user lacks, and the ACL rule that grants each.
#include "backends/redis/doctor/checks.hpp"

#include "base/text.hpp"
#include "redis/protocol/errors.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace holdfast::redis_backend::doctor {

namespace {

using backend::kind;
using what = missing_right::what;

// Both sides of a shared mutex are one lock.
kind asked_for(const snapshot& s) {
    const auto of = s.wanted.of.value_or(kind::native);
    return of == kind::shared_write ? kind::shared_read : of;
}

std::string user_of(const snapshot& s) {
    const auto name = s.whoami.text();
    return base::printable(name.empty() ? std::string_view{s.connection.user} : name);
}

// A user's rights may also be in selectors, and a rule that is added outside has no effect on those.
bool has_selectors(const snapshot& s) {
    const auto* const r = s.user.reply();
    if (r == nullptr) return false;
    const auto fields = r->items();
    for (std::size_t i = 0; i + 1 < fields.size(); i += 2)
        if (fields[i].text() == "selectors") return !fields[i + 1].items().empty();
    return false;
}

// Missing rights that are reported together: the same kind and the same severity.
struct lacked {
    std::vector<const missing_right*> rights;

    [[nodiscard]] std::string rules() const {
        std::string all;
        for (const auto* r : rights) all.append(all.empty() ? "" : " ").append(r->rule);
        return all;
    }
    // "; it is used by mutex, latch; failover=grace needs it, else ..."
    [[nodiscard]] std::string uses() const {
        std::vector<std::string_view> kinds;
        std::string of_itself;
        for (const auto* r : rights) {
            for (const auto& need : r->needed_by) {
                const auto one = "; " + need.shown + (rights.size() > 1 ? " needs them" : " needs it") +
                                 ", else " + need.without;
                if (!need.of && of_itself.find(one) == std::string::npos) of_itself += one;
                if (need.of && std::find(kinds.begin(), kinds.end(), need.shown) == kinds.end())
                    kinds.push_back(need.shown);
            }
        }
        std::string list;
        for (const auto one : kinds) list.append(list.empty() ? "" : ", ").append(one);
        if (!list.empty()) list.insert(0, rights.size() > 1 ? "; they are used by " : "; it is used by ");
        return list + of_itself;
    }
    // "the key", "the keys", each in quotes.
    [[nodiscard]] std::string patterns(const std::string& noun) const {
        auto list = "the " + noun + (rights.size() > 1 ? "s" : "");
        const char* separator = " ";
        for (const auto* r : rights)
            list.append(std::exchange(separator, ", ")).append("\"").append(r->rule.substr(1)).append("\"");
        return list;
    }
};

std::string described(const snapshot& s, const lacked& group) {
    const auto& first = *group.rights.front();
    const auto user = "user " + user_of(s);
    const auto use = group.uses();
    switch (first.kind) {
        case what::command: {
            std::string names;
            for (const auto* r : group.rights) names.append(names.empty() ? "" : ", ").append(r->name);
            return user + " may not run " + names + use;
        }
        case what::key: return user + " may not use " + group.patterns("key") + use;
        case what::channel: return user + " may not use " + group.patterns("channel") + use;
        case what::selector:
            return user + " may use each key of a " + first.name + ", but has no selector with all of them";
        case what::unknown_command: return "the server has no command " + first.name + use;
    }
    return {};
}

std::string_view id_of(const missing_right& right) {
    switch (right.kind) {
        case what::command: return "missing-command";
        case what::key:
        case what::selector: return "missing-key";
        case what::channel: return "missing-channel";
        case what::unknown_command: return "renamed-command";
    }
    return {};
}

// How much a lock of this kind needs the right; empty: not at all.
std::optional<importance> need_of(const missing_right& right, kind of) {
    std::optional<importance> most;
    for (const auto& need : right.needed_by)
        if (need.concerns(of)) most = std::max(most.value_or(importance::option), need.how);
    return most;
}

severity weight_of(importance how) {
    switch (how) {
        case importance::option: return severity::note;
        case importance::helps: return severity::warning;
        case importance::needed: return severity::danger;
    }
    return severity::danger;
}

// Reports the rights that other kinds lack, one line for each kind.
void mention_others(const snapshot& s, const std::vector<missing_right>& missing, report& r) {
    std::map<kind, std::pair<std::string, std::string>> rules;
    for (const auto& right : missing) {
        if (need_of(right, asked_for(s)) || right.kind == what::unknown_command) continue;
        for (const auto& need : right.needed_by) {
            auto& [shown, list] = rules[*need.of];
            shown = need.shown;
            if (right.kind != what::selector) list.append(list.empty() ? "" : " ").append(right.rule);
        }
    }
    for (const auto& [of, lacked] : rules) {
        auto rule = lacked.second;
        if (has_selectors(s) || rule.empty()) rule = "(" + s.rights->all_rules(of) + ")";
        r.add(severity::note, "rights-of-other-kinds",
              "user " + user_of(s) + " has not all rights for a " + lacked.first,
              "ACL SETUSER " + user_of(s) + " " + rule);
    }
}

// Reports similar rights together, each time with the one line that grants all that the lock lacks. False: it
// lacks nothing.
bool tell_lacked(const snapshot& s, const std::vector<missing_right>& missing, report& r) {
    lacked all;  // except those that only an option needs
    std::map<std::tuple<severity, what, std::string>, lacked, std::greater<>> groups;
    for (const auto& right : missing) {
        const auto need = need_of(right, asked_for(s));
        if (!need) continue;
        const auto weight = weight_of(*need);
        const bool alone = right.kind == what::unknown_command || right.kind == what::selector;
        groups[{weight, right.kind, alone ? right.name : std::string{}}].rights.push_back(&right);
        if (weight > severity::note && right.kind != what::unknown_command) all.rights.push_back(&right);
    }
    for (const auto& [key, group] : groups) {
        const auto& [weight, kind, _] = key;
        std::string mending;
        if (kind != what::unknown_command) {
            const auto rules = has_selectors(s)           ? "(" + s.rights->all_rules(asked_for(s)) + ")"
                               : weight == severity::note ? group.rules()
                                                          : all.rules();
            mending = "ACL SETUSER " + user_of(s) + " " + rules;
        }
        r.add(weight, id_of(*group.rights.front()), described(s, group), std::move(mending));
    }
    return !groups.empty();
}

// EVAL itself was refused, and all other questions need it.
void check_refusal(const snapshot& s, report& r) {
    const auto why = s.verdicts.why_not();
    if (why.find("unknown command") != std::string::npos)
        return r.danger("renamed-command",
                        "the server has no command eval; without it nothing else can be looked at");
    if (redis::error_word(why) == "NOPERM")
        return r.add(severity::danger, "missing-command",
                     "user " + user_of(s) + " may not run eval; without it nothing else can be looked at",
                     "ACL SETUSER " + user_of(s) + " +eval +evalsha");
    r.unknown("rights", "EVAL: " + why);
}

}  // namespace

void check_rights(const snapshot& s, report& r) {
    const auto* const reply = s.verdicts.reply();
    if (reply == nullptr || !s.rights) return check_refusal(s, r);
    std::vector<std::string> verdicts;
    for (const auto& item : reply->items()) verdicts.push_back(item.text());
    const auto answer = s.rights->read(verdicts);
    if (answer.cannot_tell || verdicts.empty())
        return r.unknown("rights",
                         "the server cannot check rights; that takes Redis 7 (redis.acl_check_cmd)");
    const bool fit = !tell_lacked(s, answer.missing, r) && !answer.keys_differ;
    mention_others(s, answer.missing, r);
    const auto which =
        s.wanted.name ? "for \"" + s.wanted.name->printable() + "\"" : std::string{"for locks"};
    if (answer.keys_differ)
        return r.add(severity::note, "rights", "user " + user_of(s) + " may use some keys only",
                     "Name a lock, and its keys and channels are looked at: holdfast doctor NAME");
    if (fit) r.ok("rights", "user " + user_of(s) + " may do all that is needed " + which);
}

}  // namespace holdfast::redis_backend::doctor
