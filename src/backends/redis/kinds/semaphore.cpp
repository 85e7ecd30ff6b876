// Semaphores: Redisson's counter and channel. A sorted set beside the counter has the owners of held permits,
// by the time when they expire; for the permit_semaphore it is Redisson's own. docs/wire/semaphores.md.
#include "backends/redis/kinds/redisson_protocol.hpp"
#include "backends/redis/wire/permit_id.hpp"
#include "base/text.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace holdfast::redis_backend {

namespace {

using namespace backend;

class semaphore : public redisson_protocol {
  public:
    using redisson_protocol::redisson_protocol;

    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        auto words = members_of(r.owner);
        const auto total = r.total ? std::to_string(*r.total) : std::string{};
        words.insert(words.begin(), {std::to_string(r.lease.count()), total});
        call("take", r.key, {}, words, deadline,
             [want = r.want, lease = r.lease, done = std::move(done)](const redis::outcome& o) {
                 answer_attempt(o, want, lease, done);
             });
    }

    void release(const release_request& r, time_point deadline, handler<release_answer> done) override {
        const call_words of("give", *this, r.key, {}, members_of(r.owner));
        send_release(context_, {redis_scripts::semaphore, redis_scripts::semaphore_evicting}, r, of.keys(),
                     of.args(), deadline, std::move(done), &answer_release);
    }

    void adjust(const adjust_request& r, time_point deadline, handler<adjust_answer> done) override {
        const auto verb = verb_of(r.what);
        if (verb.empty()) return lock_protocol::adjust(r, deadline, std::move(done));
        const bool of_owner = r.what == adjustment::disown || r.what == adjustment::release;
        const auto words = of_owner ? members_of(r.owner) : std::vector{std::to_string(r.amount)};
        const auto once =
            r.what == adjustment::read ? std::string{} : operation_key(r.key.name.str(), r.operation.str());
        call(verb, r.key, once, words, deadline,
             [done = std::move(done)](const redis::outcome& o) { answer_adjust(o, done); });
    }

    redis::script_ref renew_script() const override { return ref(redis_scripts::semaphore_renew); }

    void add_renew_args(const renew_request& r, std::vector<std::string>& args) const override {
        const auto members = members_of(r.owner);
        args.push_back(zset_of(r.key));
        args.push_back(std::to_string(members.front().size()));
        auto& all = args.emplace_back();
        for (const auto& m : members) all += m;
    }

  protected:
    // The sorted set of held permits.
    [[nodiscard]] virtual std::string zset_of(const lock_key& key) const = 0;
    // The members of that set for an owner.
    [[nodiscard]] virtual std::vector<std::string> members_of(const owner_id& owner) const = 0;
    // Whether a member names its number of permits; otherwise each stands for one.
    [[nodiscard]] virtual bool weighted() const = 0;

  private:
    std::string channel_of(const lock_key& key, const owner_id&) const override {
        return redisson_prefixed("redisson_sc", key.name.str());
    }
    static std::string_view verb_of(adjustment what) {
        switch (what) {
            case adjustment::set_if_unset: return "set";
            case adjustment::add: return "add";
            case adjustment::drain: return "drain";
            case adjustment::read: return "read";
            case adjustment::release: return "give";
            case adjustment::disown: return "disown";
            case adjustment::count_down:
            case adjustment::raise_fence:
            case adjustment::erase: break;
        }
        return {};
    }

    // Owns the arguments of a call of semaphore.lua. Not movable: the call has views of them.
    class call_words {
      public:
        call_words(std::string_view verb, const semaphore& of, const lock_key& key, const std::string& once,
                   const std::vector<std::string>& more)
            : zset_(of.zset_of(key)),
              channel_(of.channel_of(key, {})),
              more_(more),
              keys_{key.name.str(), zset_, once},
              args_{verb, channel_, of.weighted() ? "1" : "0", of.context_.publish(),
                    of.context_.operations_kept} {
            if (once.empty()) keys_.pop_back();
            args_.insert(args_.end(), more_.begin(), more_.end());
        }
        call_words(const call_words&) = delete;
        call_words& operator=(const call_words&) = delete;

        [[nodiscard]] const std::vector<std::string_view>& keys() const { return keys_; }
        [[nodiscard]] const std::vector<std::string_view>& args() const { return args_; }

      private:
        const std::string zset_, channel_;
        const std::vector<std::string> more_;
        std::vector<std::string_view> keys_, args_;
    };

    void call(std::string_view verb, const lock_key& key, const std::string& once,
              const std::vector<std::string>& more, time_point deadline, redis::reply_handler done) {
        const call_words of(verb, *this, key, once, more);
        context_.db.eval(ref(redis_scripts::semaphore), of.keys(), of.args(), deadline, std::move(done));
    }
};

class counting final : public semaphore {
  public:
    using semaphore::semaphore;

    owner_id new_owner(std::uint32_t permits) override {
        return owner_id{context_.short_id + '|' + std::to_string(context_.next_serial()) + '|' +
                        std::to_string(permits)};
    }

  private:
    std::string zset_of(const lock_key& key) const override { return helper_key('p', key.name.str()); }
    std::vector<std::string> members_of(const owner_id& owner) const override { return {owner.str()}; }
    bool weighted() const override { return true; }
};

// An owner is the id of the first permit as Redisson shows it, and the number of permits if there are
// several: "<32 hex digits>*3". The other permits have the following numbers as ids.
class permit final : public semaphore {
  public:
    using semaphore::semaphore;

    owner_id new_owner(std::uint32_t permits) override {
        const auto client = base::from_hex(context_.uuid.substr(0, 8) + context_.uuid.substr(9, 4));
        auto id = base::to_hex(permit_id{client, context_.next_serial()}.bytes());
        if (permits > 1) id.append("*").append(std::to_string(permits));
        return owner_id{std::move(id)};
    }

  private:
    std::string zset_of(const lock_key& key) const override {
        return redisson_suffixed(key.name.str(), "timeout");
    }
    std::vector<std::string> members_of(const owner_id& owner) const override {
        constexpr std::size_t digits = 2 * permit_id::size;
        const std::string_view text = owner.str();
        std::vector<std::string> ids;
        if (text.size() < digits) return ids;
        auto id = base::from_hex(text.substr(0, digits));
        std::uint32_t permits = 1;
        if (text.size() > digits)
            std::from_chars(text.data() + digits + 1, text.data() + text.size(), permits);
        ids.reserve(permits);
        for (ids.push_back(id); ids.size() < permits; ids.push_back(id)) {
            for (auto digit = id.rbegin(); digit != id.rend() && ++*digit == 0; ++digit) {
            }
        }
        return ids;
    }
    bool weighted() const override { return false; }
};

}  // namespace

std::unique_ptr<lock_protocol> make_semaphore(store_context& context) {
    return std::make_unique<counting>(context);
}
std::unique_ptr<lock_protocol> make_permit_semaphore(store_context& context) {
    return std::make_unique<permit>(context);
}

}  // namespace holdfast::redis_backend
