// Sends one release: the script of a kind or, for an eviction by an operator, its variant that also returns
// what the lease had left (scripts/evicting.lua.in).
#pragma once

#include "backends/redis/wire/keys.hpp"
#include "backends/redis/wire/store_context.hpp"
#include "base/text.hpp"
#include "store/requests.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::redis_backend {

struct release_scripts {
    const redis_scripts::script& plain;
    const redis_scripts::script& evicting;
};

// `answer` reads the result of the plain script and calls the handler that it receives.
template <class Answer>
void send_release(store_context& context, const release_scripts& scripts, const backend::release_request& r,
                  std::span<const std::string_view> keys, std::span<const std::string_view> args,
                  time_point deadline, handler<backend::release_answer> done, Answer answer) {
    if (!r.evicts) {
        return context.db.eval(ref(scripts.plain), keys, args, deadline,
                               [answer = std::move(answer), done = std::move(done)](
                                   redis::outcome&& o) mutable { answer(o, std::move(done)); });
    }
    const auto companions = companion_keys(r.key.name.str());
    const auto permit = base::from_hex(r.owner.str());
    std::vector<std::string_view> all{r.owner.str(), companions[0], companions[1], permit};
    all.insert(all.end(), args.begin(), args.end());
    context.db.eval(ref(scripts.evicting), keys, all, deadline,
                    [answer = std::move(answer), done = std::move(done)](redis::outcome&& o) mutable {
                        auto* const both = std::get_if<redis::reply>(&o);
                        if (both == nullptr || both->items().size() != 2) return answer(o, std::move(done));
                        auto parts = std::move(*both).take_items();
                        std::optional<std::chrono::milliseconds> left;
                        if (parts[0].integer() >= 0) left.emplace(parts[0].integer());
                        answer(std::move(parts[1]),
                               [left, done = std::move(done)](backend::release_answer a) {
                                   if (auto* const of = std::get_if<backend::released>(&a)) of->left = left;
                                   done(std::move(a));
                               });
                    });
}

}  // namespace holdfast::redis_backend
