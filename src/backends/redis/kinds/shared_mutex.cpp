// The shared mutex: Redisson's RReadWriteLock. Readers and the writer are two protocols on one hash, whose
// `mode` tells them apart. docs/wire/shared_mutex.md.
#include "backends/redis/kinds/redisson_protocol.hpp"

#include <array>
#include <span>

namespace holdfast::redis_backend {

namespace {

using namespace backend;
using words = std::span<const std::string_view>;

// The key of a live reader; without it Redisson takes the reader's field for that of a dead one.
constexpr std::string_view mark = ":rwlock_timeout:";
std::string mark_of(const lock_key& key, const owner_id& reader) {
    return redisson_suffixed(key.name.str(), reader.str()).append(mark).append("1");
}

// Empty for an empty owner, which stands for no writer.
std::string writers_field(const owner_id& owner) {
    return owner.empty() ? std::string{} : owner.str() + ":write";
}

class side : public redisson_protocol {
  public:
    using redisson_protocol::redisson_protocol;

  protected:
    std::string channel_of(const lock_key& key, const owner_id&) const override {
        return redisson_prefixed("redisson_rwlock", key.name.str());
    }

    void enter(const attempt_request& r, words keys, words args, time_point deadline,
               handler<attempt_answer> done) {
        context_.db.eval(ref(redis_scripts::shared_acquire), keys, args, deadline,
                         [want = r.want, lease = r.lease, done = std::move(done)](const redis::outcome& o) {
                             answer_attempt(o, want, lease, done);
                         });
    }
    void leave(const release_request& r, words keys, time_point deadline, handler<release_answer> done) {
        const auto before_owner = redisson_suffixed(r.key.name.str(), {});
        send_release(context_, {redis_scripts::shared_release, redis_scripts::shared_release_evicting}, r,
                     keys,
                     std::array<std::string_view, 5>{field_of(r.owner), channel_of(r.key, r.owner),
                                                     before_owner, mark, context_.publish()},
                     deadline, std::move(done), &answer_release);
    }
};

class readers final : public side {
  public:
    using side::side;

    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        const auto lease = std::to_string(r.lease.count());
        enter(r, std::array<std::string_view, 2>{r.key.name.str(), mark_of(r.key, r.owner)},
              std::array<std::string_view, 3>{r.owner.str(), lease, writers_field(r.downgrading_from)},
              deadline, std::move(done));
    }

    void release(const release_request& r, time_point deadline, handler<release_answer> done) override {
        leave(r, std::array<std::string_view, 2>{r.key.name.str(), mark_of(r.key, r.owner)}, deadline,
              std::move(done));
    }

    redis::script_ref renew_script() const override { return ref(redis_scripts::shared_read_renew); }

    void add_renew_args(const renew_request& r, std::vector<std::string>& args) const override {
        args.push_back(r.owner.str());
        args.push_back(mark_of(r.key, r.owner));
    }
};

class writer final : public side {
  public:
    using side::side;

    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        const auto lease = std::to_string(r.lease.count());
        enter(r, std::array<std::string_view, 1>{r.key.name.str()},
              std::array<std::string_view, 2>{field_of(r.owner), lease}, deadline, std::move(done));
    }

    void release(const release_request& r, time_point deadline, handler<release_answer> done) override {
        leave(r, std::array<std::string_view, 1>{r.key.name.str()}, deadline, std::move(done));
    }

  private:
    std::string field_of(const owner_id& owner) const override { return writers_field(owner); }
};

}  // namespace

std::unique_ptr<lock_protocol> make_shared_read(store_context& context) {
    return std::make_unique<readers>(context);
}
std::unique_ptr<lock_protocol> make_shared_write(store_context& context) {
    return std::make_unique<writer>(context);
}

}  // namespace holdfast::redis_backend
