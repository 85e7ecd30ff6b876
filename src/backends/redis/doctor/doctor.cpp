#include "backends/redis/doctor/doctor.hpp"

#include "backends/redis/doctor/examine.hpp"
#include "backends/redis/url/lock_url.hpp"

#include <holdfast/error.hpp>

#include <memory>
#include <utility>

namespace holdfast::redis_backend::doctor {

doctor::doctor(io::reactor& reactor, const std::string& url) : url_(url), connections_(reactor) {}

void doctor::examine(redis::database& db, const backend::examine_request& wanted,
                     backend::time_point deadline, std::chrono::milliseconds patience,
                     backend::handler<backend::result<examination>> done) {
    const auto shared = std::make_shared<backend::handler<backend::result<examination>>>(std::move(done));
    const examination_handler answer = [shared](backend::result<examination> r) { (*shared)(std::move(r)); };
    query i{wanted, deadline, patience};
    // Parses the URL again, because this is seldom needed. That reads the certificates, too, which may be
    // gone by now.
    try {
        const auto url = parse_lock_url(url_);
        if (const auto* const all = std::get_if<redis::cluster_config>(&url.server))
            return examine_cluster(db, *all, connections_, i, answer);
        auto& node = static_cast<redis::node&>(db);
        const auto& config = std::get<redis::node_config>(url.server);
        i.own = own_required_acls(wanted, url.quarantine);
        if (config.sentinels) return examine_behind_sentinel(node, config, connections_, i, answer);
        examine_server(node, i, answer);
    } catch (const error& e) {
        answer(backend::failure{e.code(), e.what()});
    }
}

}  // namespace holdfast::redis_backend::doctor
