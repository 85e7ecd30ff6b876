#include "backends/redlock/diagnose_membership.hpp"

#include "base/text.hpp"

#include <map>
#include <utility>

namespace holdfast::redlock_backend {

namespace {

constexpr auto meaning =
    "Clients that lock on other members than these may have a majority there while others have one here: two "
    "such majorities need not meet, and then two hold one lock.";

finding about_keys(severity how_bad, std::string subject, const std::string& what, std::string mending) {
    return {"redlock-marks",    how_bad,       std::move(subject), base::printable(what), meaning,
            std::move(mending), promise::timed};
}

// "5 a:1,b:2" without the number.
std::string_view members_in(std::string_view text) { return text.substr(text.find(' ') + 1); }

}  // namespace

std::vector<finding> membership_findings(const members& redlock, const membership_keys& found,
                                         const engine::member_set& no_answer, const std::string& subject) {
    const auto key = "the key " + redlock.membership_key().printable();
    std::map<std::string, std::string> who_by_key;
    std::map<std::string, std::string> who_by_refusal;
    std::size_t with_key = 0;
    const auto join = [&](std::string& list, std::size_t i) {
        list.append(list.empty() ? "" : ", ").append(base::printable(redlock.address(i)));
    };
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (no_answer.test(i)) continue;
        if (const auto* no = std::get_if<backend::failure>(&found[i])) {
            join(who_by_refusal[no->in_one()], i);
        } else if (const auto& text = std::get<std::string>(found[i]); !text.empty()) {
            join(who_by_key[text], i);
            ++with_key;
        }
    }
    const auto mending =
        "Write the same members in the URL of every client, or give this redlock a name= of its own. "
        "If the members were changed on purpose: stop all clients, DEL " +
        redlock.membership_key().printable() + " on every server, and start them with the new list.";
    std::vector<finding> all;
    std::string opinions;
    for (const auto& [text, who] : who_by_key) {
        opinions.append(opinions.empty() ? "" : "; ").append(who).append(": ").append(members_in(text));
        const auto differs = redlock.difference_to(text);
        if (!differs) continue;
        all.push_back(about_keys(severity::danger, who,
                                 key + " there names other members than the URL: only in the URL there is " +
                                     differs->only_here + ", only in the key " + differs->only_there,
                                 mending));
    }
    if (who_by_key.size() > 1)
        all.push_back(about_keys(severity::danger, subject,
                                 "the members do not agree with each other on who they are: " + opinions,
                                 mending));
    for (const auto& [why, who] : who_by_refusal)
        all.push_back(about_keys(severity::unknown, who, "could not look at " + key + ": " + why,
                                 "Examine the servers as a user who may read it (GET)."));
    if (all.empty())
        all.push_back(about_keys(severity::ok, subject,
                                 with_key == 0
                                     ? "no client has locked here yet"
                                     : std::to_string(with_key) + " of " + std::to_string(redlock.size()) +
                                           " members have " + key + ", and it names those of the URL",
                                 ""));
    return all;
}

}  // namespace holdfast::redlock_backend
