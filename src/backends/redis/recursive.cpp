// The recursive mutex: Redisson's RLock, hash and channel, byte for byte. docs/wire/recursive_mutex.md.
#include "backends/redis/answers.hpp"
#include "backends/redis/keys.hpp"
#include "backends/redis/layout.hpp"

#include <array>
#include <utility>

namespace holdfast::redis_backend {

namespace {

using namespace backend;

class channel_watch final : public watch_handle {
  public:
    explicit channel_watch(std::unique_ptr<redis::subscription> s) : subscription_(std::move(s)) {}

  private:
    std::unique_ptr<redis::subscription> subscription_;
};

class recursive final : public layout {
  public:
    explicit recursive(surroundings& around) : around_(around) {}

    // Redisson's owners are "<uuid>:<thread id>", and it takes any 64-bit number for a thread.
    owner_id new_owner() override {
        return owner_id{around_.uuid + ':' + std::to_string(around_.next_serial())};
    }

    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        const auto lease = std::to_string(r.lease.count());
        around_.node.eval(ref(redis_scripts::recursive_acquire),
                          std::array<std::string_view, 1>{r.key.name.str()},
                          std::array<std::string_view, 2>{r.owner.str(), lease}, deadline,
                          [done = std::move(done)](redis::outcome o) {
                              if (auto no = without_reply<attempt_answer>(o)) return done(*std::move(no));
                              const auto& reply = std::get<redis::reply>(o);
                              if (reply.is_integer()) return done(granted{});
                              if (reply.is_text()) {
                                  return done(refused{{make_error_code(errc::wrong_kind),
                                                       "the key holds a Redisson read/write lock"}});
                              }
                              const auto items = reply.items();
                              if (items.size() != 2) return done(nonsense());
                              busy answer{items[1].text(), std::nullopt, {}, {}};
                              if (items[0].integer() >= 0)
                                  answer.look_again = milliseconds{items[0].integer() + 1};
                              done(std::move(answer));
                          });
    }

    void release(const release_request& r, time_point deadline, handler<release_answer> done) override {
        // Not among the keys, as in Redisson's script: a user with rights to the lock alone could not give it
        // back.
        const auto channel = redisson_channel(r.key.name.str());
        around_.node.eval(ref(redis_scripts::recursive_release),
                          std::array<std::string_view, 1>{r.key.name.str()},
                          std::array<std::string_view, 2>{r.owner.str(), channel}, deadline,
                          [done = std::move(done)](redis::outcome o) {
                              if (auto no = without_reply<release_answer>(o)) return done(*std::move(no));
                              const auto& reply = std::get<redis::reply>(o);
                              if (!reply.is_integer()) return done(nonsense());
                              if (reply.integer() < 0) return done(not_held{});
                              done(released{static_cast<std::uint32_t>(reply.integer()), false});
                          });
    }

    std::unique_ptr<watch_handle> watch(const lock_key& key, const owner_id&,
                                        handler<watch_event> tell) override {
        return std::make_unique<channel_watch>(around_.node.subscribe(
            redisson_channel(key.name.str()), [tell = std::move(tell), this](const redis::sub_event& e) {
                using what = redis::sub_event::what;
                using change = watch_event::change;
                switch (e.kind) {
                    case what::subscribed: return tell({change::watching, {}});
                    case what::broken: return tell({change::broken, {}});
                    case what::refused:
                        around_.tell({notice::change::no_channel_right, std::string{e.text}, {}});
                        return tell({change::refused, {}});
                    case what::message:
                        // 0 wakes one of Redisson's waiters, 1 all of them; other numbers mean nothing.
                        if (e.text == "0" || e.text == "1") tell({change::woken, {}});
                }
            }));
    }

    redis::script_ref renew_script() const override { return ref(redis_scripts::recursive_renew); }

    void add_renew_args(const renew_request& r, std::vector<std::string>& args) const override {
        args.push_back(r.owner.str());
        args.push_back(std::to_string(r.lease.count()));
        args.push_back(std::to_string(r.holds));
    }

  private:
    surroundings& around_;
};

}  // namespace

std::unique_ptr<layout> make_recursive(surroundings& around) { return std::make_unique<recursive>(around); }

}  // namespace holdfast::redis_backend
