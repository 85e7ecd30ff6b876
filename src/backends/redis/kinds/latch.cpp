// The latch: Redisson's RCountDownLatch. It has no owners: to acquire it is to find its count at zero.
// docs/wire/latch.md.
#include "backends/redis/kinds/redisson_protocol.hpp"

#include <array>
#include <charconv>

namespace holdfast::redis_backend {

namespace {

using namespace backend;

class latch final : public redisson_protocol {
  public:
    using redisson_protocol::redisson_protocol;

    // Redisson passes the channel to its scripts as a key.
    bool fits_a_cluster(const lock_name& name) const override {
        return slot_of(channel_of({kind::latch, name}, {})) == slot_of(name.str());
    }

    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        context_.db.command({"GET", r.key.name.str()}, deadline,
                            [lease = r.lease, done = std::move(done)](const redis::outcome& o) {
                                if (auto no = without_reply<attempt_answer>(o)) return done(*std::move(no));
                                done(what_it_says(std::get<redis::reply>(o), lease));
                            });
    }

    void release(const release_request&, time_point, handler<release_answer> done) override {
        done(released{});
    }

    void adjust(const adjust_request& r, time_point deadline, handler<adjust_answer> done) override {
        const auto verb = verb_of(r.what);
        if (verb.empty()) return lock_protocol::adjust(r, deadline, std::move(done));
        const auto once = operation_key(r.key.name.str(), r.operation.str());
        const auto channel = channel_of(r.key, r.owner);
        const auto amount = std::to_string(r.amount);
        context_.db.eval(ref(redis_scripts::latch), std::array<std::string_view, 2>{r.key.name.str(), once},
                         std::array<std::string_view, 5>{verb, channel, amount, context_.publish(),
                                                         context_.operations_kept},
                         deadline,
                         [done = std::move(done)](const redis::outcome& o) { answer_adjust(o, done); });
    }

  private:
    static attempt_answer what_it_says(const redis::reply& count, milliseconds lease) {
        if (count.is_nil()) return granted{lease};
        std::int64_t n = 0;
        const auto& text = count.text();
        const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
        if (ec != std::errc{} || end != text.data() + text.size()) return refused{{errc::wrong_kind}};
        if (n <= 0) return granted{lease};
        return busy{text, std::nullopt, {}, {}};
    }
    static std::string_view verb_of(adjustment what) {
        switch (what) {
            case adjustment::set_if_unset: return "set";
            case adjustment::count_down: return "down";
            case adjustment::read: return "read";
            case adjustment::erase: return "erase";
            case adjustment::add:
            case adjustment::drain:
            case adjustment::release:
            case adjustment::raise_fence:
            case adjustment::disown: break;
        }
        return {};
    }
    // Like Redisson, puts braces around every name, also around one that has braces.
    std::string channel_of(const lock_key& key, const owner_id&) const override {
        return "redisson_countdownlatch__channel__{" + key.name.str() + "}";
    }
};

}  // namespace

std::unique_ptr<lock_protocol> make_latch(store_context& context) { return std::make_unique<latch>(context); }

}  // namespace holdfast::redis_backend
