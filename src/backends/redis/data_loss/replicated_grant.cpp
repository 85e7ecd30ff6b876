#include "backends/redis/data_loss/replicated_grant.hpp"

#include "backends/redis/wire/reply_mapping.hpp"

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::redis_backend {

using namespace backend;

handler<attempt_answer> once_replicated(redis::database& db, const lock_protocol& protocol,
                                        const attempt_request& r, time_point deadline,
                                        handler<attempt_answer> done) {
    return [&db, &protocol, deadline, ask = renew_request{r.key, r.owner, r.lease, 0, r.replicas},
            done = std::make_shared<handler<attempt_answer>>(std::move(done))](attempt_answer answer) {
        const auto* const got = std::get_if<granted>(&answer);
        if (got == nullptr) return (*done)(std::move(answer));
        std::vector<std::string> args{std::to_string(ask.lease.count())};
        protocol.add_renew_args(ask, args);
        const std::vector<std::string_view> views(args.begin(), args.end());
        const std::array keys{std::string_view{ask.key.name.str()}};
        const redis::database::eval_call call{protocol.renew_script(), keys, views, ask.replicas};
        db.evals({&call, 1}, deadline, [got = *got, done](std::vector<redis::outcome> outcomes) {
            auto [o, acks] = redis::take_apart(std::move(outcomes.at(0)));
            if (const auto no = without_reply<attempt_answer>(o)) {
                const auto* const refusal = std::get_if<refused>(&*no);
                return (*done)(refusal != nullptr ? unknown{refusal->why()} : std::get<unknown>(*no));
            }
            if (const auto& lost = std::get<redis::reply>(o); !lost.is_array() || !lost.items().empty())
                return (*done)(unknown{{make_error_code(errc::unknown_outcome),
                                        "the grant was gone before the replicas had it"}});
            auto confirmed = got;
            confirmed.acks = acks;
            (*done)(confirmed);
        });
    };
}

}  // namespace holdfast::redis_backend
