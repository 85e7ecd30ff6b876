#include "backends/quorum/marks.hpp"

#include "base/text.hpp"

#include <map>
#include <utility>

namespace holdfast::quorum_backend {

namespace {

constexpr auto meaning =
    "Clients that lock on other members than these may have a majority there while others have one here: two "
    "such majorities need not meet, and then two hold one lock.";

finding of_marks(severity how_bad, std::string subject, const std::string& found, std::string mending) {
    return {"redlock-marks",    how_bad,       std::move(subject), base::printable(found), meaning,
            std::move(mending), promise::timed};
}

// "5 a:1,b:2" without the number.
std::string_view members_in(std::string_view mark) { return mark.substr(mark.find(' ') + 1); }

}  // namespace

std::vector<finding> judge(const council& c, const marks& said, const engine::member_set& silent,
                           const std::string& subject) {
    const auto key = "the key " + c.mark_key().printable();
    std::map<std::string, std::string> who_by_mark;
    std::map<std::string, std::string> who_by_refusal;
    std::size_t marked = 0;
    const auto join = [&](std::string& list, std::size_t i) {
        list.append(list.empty() ? "" : ", ").append(base::printable(c.address(i)));
    };
    for (std::size_t i = 0; i < said.size(); ++i) {
        if (silent.test(i)) continue;
        if (const auto* no = std::get_if<backend::failure>(&said[i])) {
            join(who_by_refusal[no->in_one()], i);
        } else if (const auto& mark = std::get<std::string>(said[i]); !mark.empty()) {
            join(who_by_mark[mark], i);
            ++marked;
        }
    }
    const auto mending =
        "Write the same members in the URL of every client, or give this redlock a name= of its own. "
        "If the members were changed on purpose: stop all clients, DEL " +
        c.mark_key().printable() + " on every server, and start them with the new list.";
    std::vector<finding> all;
    std::string opinions;
    for (const auto& [mark, who] : who_by_mark) {
        opinions.append(opinions.empty() ? "" : "; ").append(who).append(": ").append(members_in(mark));
        const auto differs = c.difference_to(mark);
        if (!differs) continue;
        all.push_back(of_marks(severity::danger, who,
                               key + " there names other members than the URL: only in the URL there is " +
                                   differs->only_here + ", only in the key " + differs->only_there,
                               mending));
    }
    if (who_by_mark.size() > 1)
        all.push_back(of_marks(severity::danger, subject,
                               "the members do not agree with each other on who they are: " + opinions,
                               mending));
    for (const auto& [why, who] : who_by_refusal)
        all.push_back(of_marks(severity::unknown, who, "could not look at " + key + ": " + why,
                               "Examine the servers as a user who may read it (GET)."));
    if (all.empty())
        all.push_back(of_marks(severity::ok, subject,
                               marked == 0 ? "no client has locked here yet"
                                           : std::to_string(marked) + " of " + std::to_string(c.size()) +
                                                 " members have " + key + ", and it names those of the URL",
                               ""));
    return all;
}

}  // namespace holdfast::quorum_backend
