#include "backends/redis/data_loss/quarantine_filter.hpp"

#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <utility>

namespace holdfast::redis_backend {

using namespace backend;
using std::chrono::milliseconds;

void quarantine_filter::on_up(const redis::node_event& e, time_point now) {
    const auto& s = e.server;
    base::guard lock(mutex_);
    const bool met_before = !run_.empty();
    const bool same_run = met_before && s.run_id == run_;
    // At another address; or at this one, and it was running before we lost the previous one.
    const bool another =
        !same_run && (!e.moved_from.empty() || (met_before && engine::quarantine::least_elapsed(s.uptime) >
                                                                  now - std::min(down_at_, now)));
    const bool promoted = rules_.after_failover && (another || s.promoted);
    const bool pending = quarantine_ && !quarantine_->has_ended(now);
    // Without failover=grace, another server counts as one met for the first time. And a promotion that a
    // server no longer reports is an old one.
    if (!rules_.after_failover ? !e.moved_from.empty() : promoted_ && !promoted && same_run && !pending)
        quarantine_.reset();
    run_ = s.run_id;
    address_ = s.address;
    up_ = true;
    promoted_ = promoted;
    replica_ = rules_.after_failover && s.role == "slave";
    asked_ = false;
    no_note_.clear();
    const bool tells = !s.run_id.empty() && (!rules_.after_failover || !s.replid.empty());
    if (!promoted && !rules_.after_restart && tells) {
        // A trusted restart keeps the locks that were there, and what is left of a quarantine.
        if (!pending) quarantine_.reset();
        return;
    }
    if (!quarantine_) quarantine_.emplace(engine::quarantine_settings{rules_.longest_lease, true});
    // One run may be promoted twice, with another master in between.
    const auto which = !tells ? std::string{} : promoted ? s.promotion() : s.run_id;
    quarantine_->on_connected(which, promoted ? std::chrono::seconds{0} : s.uptime, now);
}

void quarantine_filter::on_down(time_point now) {
    base::guard lock(mutex_);
    up_ = false;
    down_at_ = now;
}

void quarantine_filter::on_write_accepted(time_point now) {
    base::guard lock(mutex_);
    if (!std::exchange(replica_, false)) return;
    promoted_ = asked_ = true;
    quarantine_.emplace(engine::quarantine_settings{rules_.longest_lease, true});
    quarantine_->on_connected(run_, std::chrono::seconds{0}, now);
}

bool quarantine_filter::promotion_is_unknown(time_point now) const {
    return up_ && promoted_ && !asked_ && quarantine_ && !quarantine_->anonymous() &&
           !quarantine_->has_ended(now);
}

std::optional<std::string> quarantine_filter::unknown_promotion(time_point now) const {
    base::guard lock(mutex_);
    if (!promotion_is_unknown(now)) return std::nullopt;
    return quarantine_->run_id();
}

void quarantine_filter::promotion_noted(const std::string& server, milliseconds ago, time_point now) {
    base::guard lock(mutex_);
    if (!quarantine_ || quarantine_->run_id() != server) return;
    asked_ = true;
    quarantine_->began_before(server, ago, now);
}

void quarantine_filter::promotion_cannot_be_noted(const std::string& server, std::string why) {
    base::guard lock(mutex_);
    if (!quarantine_ || quarantine_->run_id() != server) return;
    asked_ = true;
    no_note_ = std::move(why);
}

std::optional<refused> quarantine_filter::refuse_request(milliseconds lease, time_point now) const {
    if (too_long(lease)) {
        return refused{{make_error_code(errc::invalid_argument),
                        "the lease of " + base::to_text(lease) + " is longer than the URL's longest_lease, " +
                            base::to_text(rules_.longest_lease) +
                            ", for which a server is in quarantine; raise it everywhere, or ask for less"}};
    }
    base::guard lock(mutex_);
    return up_ && !replica_ && !promotion_is_unknown(now) ? refusal(quarantine_, now) : std::nullopt;
}

std::optional<refused> quarantine_filter::refuse_answer(time_point now) const {
    base::guard lock(mutex_);
    if (up_) return refusal(quarantine_, now);
    return refused{{make_error_code(errc::unavailable),
                    "the connection was lost with the answer, and who comes next may have forgotten it"},
                   milliseconds{0}};
}

std::optional<refused> quarantine_filter::refusal_shown(std::optional<milliseconds> noted,
                                                        time_point now) const {
    base::guard lock(mutex_);
    if (!up_) return std::nullopt;
    auto quarantine = quarantine_;
    if (quarantine && noted) quarantine->began_before(quarantine->run_id(), *noted, now);
    return refusal(quarantine, now);
}

std::optional<refused> quarantine_filter::refusal(const std::optional<engine::quarantine>& quarantine,
                                                  time_point now) const {
    if (replica_) {
        return refused{
            {make_error_code(errc::busy_server), address_ + " is a replica, which grants no locks"}};
    }
    if (!quarantine || quarantine->has_ended(now)) return std::nullopt;
    if (quarantine->anonymous()) {
        return refused{{make_error_code(errc::no_permission),
                        address_ +
                            " does not say which run of the server it is, so a restart would not be seen; "
                            "allow the user INFO"}};
    }
    const auto left = std::chrono::ceil<milliseconds>(quarantine->ends_at() - now);
    auto text = address_ + (promoted_ ? " was promoted" : " was started") +
                " so lately that it may have forgotten locks; it grants them again in " +
                base::to_text(std::chrono::ceil<std::chrono::seconds>(left));
    if (!no_note_.empty()) text += ". Since when it is the master could not be noted there: " + no_note_;
    return refused{{make_error_code(errc::quarantined), std::move(text)}, left};
}

}  // namespace holdfast::redis_backend
