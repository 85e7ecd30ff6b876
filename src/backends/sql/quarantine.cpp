#include "backends/sql/quarantine.hpp"

#include "base/text.hpp"

#include <holdfast/error.hpp>

namespace holdfast::sql_backend {

using namespace backend;

void quarantine::on_session(const std::string& address, const std::string& run, std::chrono::seconds age,
                            time_point now) {
    const base::guard lock(mutex_);
    met_ = true;
    address_ = address;
    state_.on_connected(run, age, now);
}

std::optional<refused> quarantine::refuse_request(milliseconds lease, time_point now) const {
    if (!outlasts(lease)) {
        return refused{{make_error_code(errc::invalid_argument),
                        "the lease of " + base::to_text(lease) + " is longer than the URL's longest_lease, " +
                            base::to_text(longest_lease_) +
                            ", for which a server is in quarantine; raise it everywhere, or ask for less"}};
    }
    return refuse_answer(now);
}

std::optional<refused> quarantine::refuse_answer(time_point now) const {
    const base::guard lock(mutex_);
    if (!met_ || state_.has_ended(now)) return std::nullopt;
    const auto left = std::chrono::ceil<milliseconds>(state_.ends_at() - now);
    return refused{
        {make_error_code(errc::quarantined),
         address_ +
             " has crashed or was promoted so recently that it may have forgotten locks; it grants "
             "them again in " +
             base::to_text(std::chrono::ceil<std::chrono::seconds>(left))},
        left};
}

}  // namespace holdfast::sql_backend
