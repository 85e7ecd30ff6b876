// The recursive mutex: Redisson's RLock, hash and channel, byte for byte; with a fence counter it is
// Redisson's RFencedLock. docs/wire/recursive_mutex.md, docs/wire/fenced_mutex.md.
#include "backends/redis/kinds/redisson_protocol.hpp"
#include "backends/redis/wire/fences_per_grant.hpp"

#include <array>

namespace holdfast::redis_backend {

namespace {

using namespace backend;

class recursive final : public redisson_protocol {
  public:
    recursive(store_context& context, bool fenced) : redisson_protocol(context), fenced_(fenced) {}

    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        const auto& name = r.key.name.str();
        const auto counter = fenced_ ? redisson_prefixed("redisson_lock_token", name) : std::string{};
        const std::array<std::string_view, 2> keys{name, counter};
        const auto lease = std::to_string(r.lease.count());
        const auto fences = std::to_string(fences_per_grant);
        context_.db.eval(
            ref(redis_scripts::recursive_acquire), std::span{keys}.first(fenced_ ? 2 : 1),
            std::array<std::string_view, 3>{r.owner.str(), lease, fences}, deadline,
            [counter, want = r.want, lease = r.lease, done = std::move(done)](const redis::outcome& o) {
                const auto* const reply = std::get_if<redis::reply>(&o);
                if (reply != nullptr && reply->is_text() && reply->text() == "fence")
                    return done(bad_fence_counter(counter));
                answer_attempt(o, want, lease, done);
            });
    }

    void release(const release_request& r, time_point deadline, handler<release_answer> done) override {
        // Redisson's script has the channel as a key; then a user with rights to the lock alone could not
        // release it.
        const auto channel = redisson_channel(r.key.name.str());
        send_release(context_, {redis_scripts::recursive_release, redis_scripts::recursive_release_evicting},
                     r, std::array<std::string_view, 1>{r.key.name.str()},
                     std::array<std::string_view, 3>{r.owner.str(), channel, context_.publish()}, deadline,
                     std::move(done), &answer_release);
    }

  private:
    const bool fenced_;
};

}  // namespace

std::unique_ptr<lock_protocol> make_recursive(store_context& context, bool fenced) {
    return std::make_unique<recursive>(context, fenced);
}

}  // namespace holdfast::redis_backend
