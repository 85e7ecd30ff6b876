// Shared by Redisson's kinds of lock: owners, and the answers of the scripts. docs/wire/.
#pragma once

#include "backends/redis/kinds/lock_protocol.hpp"
#include "backends/redis/kinds/send_release.hpp"
#include "backends/redis/wake_ups/redisson_watch.hpp"
#include "backends/redis/wire/keys.hpp"
#include "backends/redis/wire/reply_mapping.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace holdfast::redis_backend {

class redisson_protocol : public lock_protocol {
  public:
    explicit redisson_protocol(store_context& context) : context_(context) {}

    bool fits_a_cluster(const lock_name& name) const override { return redisson_shares_slot(name.str()); }

    // Redisson's owners are "<uuid>:<thread id>", and it takes any 64-bit number for a thread.
    owner_id new_owner(std::uint32_t) override {
        return owner_id{context_.uuid + ':' + std::to_string(context_.next_serial())};
    }

    std::unique_ptr<backend::watch_handle> watch(const backend::lock_key& key, const owner_id& owner,
                                                 handler<backend::watch_event> on_event) override {
        return std::make_unique<redisson_watch>(context_, channel_of(key, owner), std::move(on_event));
    }

    redis::script_ref renew_script() const override { return ref(redis_scripts::recursive_renew); }

    // A renewal with a hold count is for one lock and is sent alone.
    void add_renew_args(const backend::renew_request& r, std::vector<std::string>& args) const override {
        if (args.size() == 1) args.push_back(std::to_string(r.holds));
        args.push_back(field_of(r.owner));
    }

  protected:
    // The channel on which the owner learns that it may try.
    [[nodiscard]] virtual std::string channel_of(const backend::lock_key& key, const owner_id&) const {
        return redisson_channel(key.name.str());
    }
    // The field of the hash that counts the owner's holds.
    [[nodiscard]] virtual std::string field_of(const owner_id& owner) const { return owner.str(); }

    // An integer: the lock was taken, and this is the fence. {ms}: taken, and it ends then at the latest. A
    // text: another kind of lock. Otherwise {PTTL, holder}.
    static void answer_attempt(const redis::outcome& o, backend::intent want, backend::milliseconds lease,
                               const handler<backend::attempt_answer>& done) {
        using namespace backend;
        if (auto no = no_grant(o, want)) return done(*std::move(no));
        const auto& reply = std::get<redis::reply>(o);
        if (reply.is_integer()) return done(granted{lease, static_cast<fence>(reply.integer())});
        if (reply.is_text()) return done(refused{{errc::wrong_kind}});
        const auto items = reply.items();
        if (items.size() == 1) return done(granted{std::min(lease, milliseconds{items[0].integer()})});
        if (items.size() != 2) return done(unexpected_reply());
        busy answer{items[1].text(), std::nullopt, {}, {}};
        if (items[0].integer() >= 0) answer.look_again = milliseconds{items[0].integer() + 1};
        done(std::move(answer));
    }

    // -1: the lock was not held. Otherwise the number of listeners that got the message.
    static void answer_release(const redis::outcome& o, handler<backend::release_answer> done) {
        using namespace backend;
        if (auto no = without_reply<release_answer>(o)) return done(*std::move(no));
        const auto& reply = std::get<redis::reply>(o);
        if (!reply.is_integer()) return done(unexpected_reply());
        if (reply.integer() < 0) return done(not_held{});
        done(released{static_cast<std::uint32_t>(reply.integer()), false});
    }

    store_context& context_;
};

}  // namespace holdfast::redis_backend
