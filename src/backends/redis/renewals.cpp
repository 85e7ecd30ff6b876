#include "backends/redis/renewals.hpp"

#include "backends/redis/wire/reply_mapping.hpp"
#include "redis/protocol/errors.hpp"

#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <utility>

namespace holdfast::redis_backend {

using namespace backend;

namespace {

// A script over more keys would block other clients of the server for more than 0.2 ms (docs/performance.md).
constexpr std::size_t most_a_script = 100;

// Whether a script may have been refused because of one of its locks: its locks are on two servers while
// their slot moves, or the user has lost the right to one of them. The other locks must still be renewed.
bool may_be_for_one(const refused& why) {
    return redis::is_tryagain(why.server_text) || why.code == errc::no_permission ||
           why.code == errc::wrong_kind;
}

// False: each lock must be renewed alone.
bool take_in(std::vector<renew_answer>& answers, const std::vector<std::size_t>& asked, redis::outcome&& o,
             milliseconds lease, std::uint32_t replicas) {
    const auto received = replicas > 0 ? redis::take_apart(std::move(o)) : redis::acked{std::move(o), 0};
    if (const auto no = without_reply<renew_answer>(received.of_script)) {
        const auto* const refusal = std::get_if<refused>(&*no);
        if (refusal != nullptr && asked.size() > 1 && may_be_for_one(*refusal)) return false;
        for (const auto i : asked) answers[i] = *no;
        return true;
    }
    const auto& reply = std::get<redis::reply>(received.of_script);
    if (!reply.is_array()) return true;
    if (received.replicas >= replicas)
        for (const auto i : asked) answers[i] = renewed{lease};
    // A place: not held. {place, ms}: renewed for no longer than that.
    for (const auto& one : reply.items()) {
        const auto words = one.is_array() ? one.items() : std::span{&one, 1};
        if (words.empty()) continue;
        const auto place = static_cast<std::size_t>(words.front().integer() - 1);
        if (place >= asked.size()) continue;
        auto& answer = answers[asked[place]];
        if (words.size() == 1)
            answer = not_held{};
        else if (auto* const yes = std::get_if<renewed>(&answer))
            yes->lease = std::min(yes->lease, milliseconds{words[1].integer()});
    }
    return true;
}

}  // namespace

struct renewals::together {
    std::vector<renew_request> requests;  // kept if some may have to be sent again
    std::vector<renew_answer> answers;
    time_point deadline;
    handler<std::vector<renew_answer>> done;
};

// Each script is for one protocol, lease and slot. With several connections a script uses that of its first
// lock: for the others the order of renewal and release does not matter. A hold count, whose order matters,
// is sent alone.
void renewals::send(std::span<const renew_request> all, time_point deadline,
                    handler<std::vector<renew_answer>> done) const {
    std::vector<places> batches;
    std::map<std::tuple<kind, milliseconds, std::uint32_t, replication, std::uint16_t>, std::size_t> filling;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& r = all[i];
        if (!allowed_(r.lease)) continue;
        auto& batch = filling[{r.key.of, r.lease, r.holds, r.replicas, db_.slot_of(r.key.name.str())}];
        if (batch == 0 || batches[batch - 1].size() == most_a_script) {
            batches.emplace_back();
            batch = batches.size();
        }
        batches[batch - 1].push_back(i);
    }
    if (batches.empty()) return done(std::vector<renew_answer>(all.size(), unknown{}));
    const auto state = std::make_shared<together>();
    if (all.size() > 1) state->requests.assign(all.begin(), all.end());
    state->answers.assign(all.size(), unknown{});
    state->deadline = deadline;
    state->done = std::move(done);
    send_batches(state, all, std::move(batches));
}

// Sends one script for each batch, all of them together.
void renewals::send_batches(const std::shared_ptr<together>& all, std::span<const renew_request> requests,
                            std::vector<places> batches) const {
    struct batch_arguments {
        std::vector<std::string_view> keys;
        std::vector<std::string> made;
        std::vector<std::string_view> args;
    };
    std::vector<batch_arguments> prepared(batches.size());
    std::vector<redis::database::eval_call> calls;
    std::vector<std::pair<milliseconds, std::uint32_t>> wanted;  // lease and replicas
    for (std::size_t b = 0; b < batches.size(); ++b) {
        const auto& first = requests[batches[b].front()];
        const auto& of = protocol_of_(first.key.of);
        prepared[b].made.push_back(std::to_string(first.lease.count()));
        for (const auto i : batches[b]) {
            prepared[b].keys.push_back(requests[i].key.name.str());
            of.add_renew_args(requests[i], prepared[b].made);
        }
        prepared[b].args.assign(prepared[b].made.begin(), prepared[b].made.end());
        calls.push_back({of.renew_script(), prepared[b].keys, prepared[b].args, first.replicas});
        wanted.emplace_back(first.lease, first.replicas.at_least);
    }
    db_.evals(calls, all->deadline,
              [this, all, wanted = std::move(wanted),
               batches = std::move(batches)](std::vector<redis::outcome> outcomes) {
                  std::vector<places> alone;
                  for (std::size_t b = 0; b < batches.size(); ++b)
                      if (const auto [lease, replicas] = wanted[b];
                          !take_in(all->answers, batches[b], std::move(outcomes[b]), lease, replicas))
                          for (const auto i : batches[b]) alone.push_back({i});
                  if (!alone.empty()) return send_batches(all, all->requests, std::move(alone));
                  all->done(std::move(all->answers));
              });
}

}  // namespace holdfast::redis_backend
