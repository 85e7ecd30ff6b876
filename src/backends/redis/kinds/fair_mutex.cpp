// The fair mutex: Redisson's RFairLock. Its waiters are in a list, and each learns of its turn on a channel
// of its own. docs/wire/fair_mutex.md.
#include "backends/redis/kinds/redisson_protocol.hpp"

#include <array>

namespace holdfast::redis_backend {

namespace {

using namespace backend;

class fair final : public redisson_protocol {
  public:
    using redisson_protocol::redisson_protocol;

    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        const names of(r.key.name.str());
        const auto lease = std::to_string(r.lease.count());
        const auto liveness = std::to_string(context_.fair_liveness.count());
        context_.db.eval(
            ref(redis_scripts::fair_acquire), of.keys(),
            std::array<std::string_view, 7>{r.owner.str(), lease, r.want == intent::queue ? "1" : "0",
                                            of.channel, liveness, of.absent, context_.publish()},
            deadline, [want = r.want, lease = r.lease, done = std::move(done)](const redis::outcome& o) {
                answer_attempt(o, want, lease, done);
            });
    }

    void release(const release_request& r, time_point deadline, handler<release_answer> done) override {
        const names of(r.key.name.str());
        const auto liveness = std::to_string(context_.fair_liveness.count());
        send_release(context_, {redis_scripts::fair_release, redis_scripts::fair_release_evicting}, r,
                     of.keys(),
                     std::array<std::string_view, 5>{r.owner.str(), r.undo ? "1" : "0", of.channel, liveness,
                                                     context_.publish()},
                     deadline, std::move(done), &answer_release);
    }

  private:
    std::string channel_of(const lock_key& key, const owner_id& owner) const override {
        return names(key.name.str()).channel + owner.str();
    }

    struct names {
        explicit names(const std::string& name)
            : lock(name),
              queue(redisson_prefixed("redisson_lock_queue", name)),
              limits(redisson_prefixed("redisson_lock_timeout", name)),
              absent(helper_key('d', name)),
              channel(redisson_channel(name) + ':') {}

        [[nodiscard]] std::array<std::string_view, 3> keys() const { return {lock, queue, limits}; }

        const std::string& lock;
        const std::string queue, limits;
        const std::string absent;   // key: since when a waiter is absent
        const std::string channel;  // an owner's channel, without the owner
    };
};

}  // namespace

std::unique_ptr<lock_protocol> make_fair(store_context& context) { return std::make_unique<fair>(context); }

}  // namespace holdfast::redis_backend
