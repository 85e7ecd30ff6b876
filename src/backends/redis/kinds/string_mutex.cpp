// The mutex: a string with the owner token, and a queue of owner tokens. docs/wire/mutex.md defines the keys;
// the scripts operate on them.
#include "backends/redis/kinds/lock_protocol.hpp"
#include "backends/redis/kinds/refused_queues.hpp"
#include "backends/redis/kinds/send_release.hpp"
#include "backends/redis/wake_ups/wake_channels.hpp"
#include "backends/redis/wire/fences_per_grant.hpp"
#include "backends/redis/wire/keys.hpp"
#include "backends/redis/wire/reply_mapping.hpp"
#include "base/random.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <utility>

namespace holdfast::redis_backend {

namespace {

using namespace backend;

// How long a handed-off lock lasts until its new owner claims it. Longer than a poll gap and a few round
// trips; a stopped waiter delays those behind it by this time.
constexpr std::string_view handed_lease_text = "3000";
constexpr milliseconds handed_lease{3000};
// Longer than any poll gap: a queue expires only when no waiter asks.
constexpr std::string_view queue_ttl = "120000";
// Fences grow with time even if the counter is gone, so the counter may expire.
constexpr std::string_view fence_ttl = "604800";

constexpr std::int64_t fences_per_unit = fences_per_grant;

std::int64_t to_number(std::string_view text) {
    std::int64_t n = 0;
    std::from_chars(text.data(), text.data() + text.size(), n);
    return n;
}

// A number as an argument of a command, without a std::string.
class decimal {
  public:
    explicit decimal(std::int64_t n)
        : end_(std::to_chars(text_.data(), text_.data() + text_.size(), n).ptr) {}
    [[nodiscard]] std::string_view text() const {
        return {text_.data(), static_cast<std::size_t>(end_ - text_.data())};
    }

  private:
    std::array<char, 24> text_;
    const char* end_;
};

bool no_right(const redis::outcome& o) {
    const auto* reply = std::get_if<redis::reply>(&o);
    return reply != nullptr && reply->is_error() && redis::classify(reply->text()) == errc::no_permission;
}

// In a cluster: the lock and its queue are on two servers at the moment. A single key is always on one.
bool half_moved(const redis::outcome& o) {
    const auto* reply = std::get_if<redis::reply>(&o);
    return reply != nullptr && reply->is_error() && redis::is_tryagain(reply->text());
}

// A server before Redis 7, which supports NX and GET but not both together. It did nothing.
bool refuses_set_with_get(const redis::outcome& o) {
    const auto* reply = std::get_if<redis::reply>(&o);
    return reply != nullptr && reply->is_error() && reply->text().starts_with("ERR syntax error");
}

// The script found no valid fence in the fence counter.
bool says_fence(const redis::outcome& o) {
    const auto* reply = std::get_if<redis::reply>(&o);
    return reply != nullptr && reply->is_text() && reply->text() == "fence";
}

enum class then_look { at_leisure, often };

class string_mutex final : public lock_protocol {
  public:
    string_mutex(store_context& context, bool fenced, std::shared_ptr<wake_channels> channels)
        : context_(context), fenced_(fenced), wake_channels_(std::move(channels)) {}

    owner_id new_owner(std::uint32_t) override {
        const decimal serial(context_.next_serial());
        std::string token;
        token.reserve(context_.short_id.size() + 1 + serial.text().size());
        return owner_id{std::move(token.append(context_.short_id).append(1, '|').append(serial.text()))};
    }

    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        // Without the right to the queue key the client cannot queue: it polls often instead.
        const bool queues = r.want == intent::queue;
        if (queues && !without_queue(r.key)) return enqueue(r, deadline, std::move(done));
        const auto then = queues ? then_look::often : then_look::at_leisure;
        if (fenced_) return take_fenced(r, may_take::yes, deadline, std::move(done), then);
        take(r, deadline, std::move(done), then);
    }

    void release(const release_request& r, time_point deadline, handler<release_answer> done) override {
        if (without_queue(r.key)) return delete_if_owner(r, deadline, std::move(done));
        const auto& name = r.key.name.str();
        const auto queue = helper_key('q', name);
        const auto wakes = wake_channels_->names_for(name);
        send_release(
            context_,
            {redis_scripts::mutex_release_and_hand_off, redis_scripts::mutex_release_and_hand_off_evicting},
            r, std::array<std::string_view, 2>{name, queue},
            std::array<std::string_view, 5>{r.owner.str(), handed_lease_text, wakes.prefix,
                                            r.undo ? "1" : "0", wakes.publish},
            deadline, std::move(done),
            [this, r = r, deadline](const redis::outcome& o, handler<release_answer> then) {
                if (no_right(o)) no_queue_.add(r.key.name.str(), boot_clock::now());
                if (no_right(o) || half_moved(o)) return delete_if_owner(r, deadline, std::move(then));
                if (auto no = without_reply<release_answer>(o)) return then(*std::move(no));
                const auto& reply = std::get<redis::reply>(o);
                if (!reply.is_integer()) return then(unexpected_reply());
                if (reply.integer() == 0) return then(not_held{});
                then(released{0, reply.integer() == 2});
            });
    }

    void adjust(const adjust_request& r, time_point deadline, handler<adjust_answer> done) override {
        if (!fenced_ || r.what != adjustment::raise_fence)
            return lock_protocol::adjust(r, deadline, std::move(done));
        const auto& name = r.key.name.str();
        const auto fences = helper_key('f', name);
        const decimal unit((r.amount + fences_per_unit - 1) / fences_per_unit);
        context_.db.eval(ref(redis_scripts::mutex_raise_fence), std::array<std::string_view, 2>{name, fences},
                         std::array<std::string_view, 3>{r.owner.str(), unit.text(), fence_ttl}, deadline,
                         [fences, done = std::move(done)](const redis::outcome& o) {
                             if (says_fence(o)) return done(bad_fence_counter(fences));
                             answer_adjust(o, done);
                         });
    }

    std::unique_ptr<watch_handle> watch(const lock_key& key, const owner_id& token,
                                        handler<watch_event> on_event) override {
        const auto channel = wake_channels_->channel_for(key.name.str());
        if (!fenced_) return channel->watch(key, token, std::move(on_event));
        // A message has no fence: the new owner asks for it, and so learns that it holds the lock.
        return channel->watch(key, token, [on_event = std::move(on_event)](watch_event e) {
            e.message.ticket.clear();
            on_event(std::move(e));
        });
    }

    redis::script_ref renew_script() const override { return ref(redis_scripts::mutex_renew); }

    void add_renew_args(const renew_request& r, std::vector<std::string>& args) const override {
        args.push_back(r.owner.str());
    }

  private:
    void take(const attempt_request& r, time_point deadline, handler<attempt_answer> done, then_look then) {
        const decimal lease(r.lease.count());
        const auto& name = r.key.name.str();
        const bool by_script = takes_by_script_.load(std::memory_order_relaxed);
        auto answered = [this, r = r, deadline, then, by_script,
                         done = std::move(done)](redis::outcome&& o) mutable {
            if (!by_script && refuses_set_with_get(o)) {
                takes_by_script_.store(true, std::memory_order_relaxed);
                return take(r, deadline, std::move(done), then);
            }
            if (auto no = no_grant(o, r.want)) return done(*std::move(no));
            auto& reply = std::get<redis::reply>(o);
            if (reply.is_nil()) return done(granted{r.lease});
            if (!reply.is_text()) return done(unexpected_reply());
            if (reply.text() == r.owner.str()) return lengthen(r, deadline, std::move(done));
            done(held_by(std::move(reply).text(), then));
        };
        if (by_script) {
            context_.db.eval(ref(redis_scripts::mutex_take), std::array<std::string_view, 1>{name},
                             std::array<std::string_view, 2>{r.owner.str(), lease.text()}, deadline,
                             std::move(answered));
        } else {
            context_.db.command({"SET", name, r.owner.str(), "NX", "GET", "PX", lease.text()}, deadline,
                                std::move(answered));
        }
    }

    // The owner already holds the lock: an earlier send took it, or a release handed it off, with a shorter
    // lease.
    void lengthen(const attempt_request& r, time_point deadline, handler<attempt_answer> done) {
        const decimal lease(r.lease.count());
        context_.db.eval(
            renew_script(), std::array<std::string_view, 1>{r.key.name.str()},
            std::array<std::string_view, 2>{lease.text(), r.owner.str()}, deadline,
            [given = r.lease, done = std::move(done)](const redis::outcome& o) {
                // After a refusal or a lost answer the owner may still hold the lock for a while.
                if (const auto no = without_reply<attempt_answer>(o)) {
                    const auto* const refusal = std::get_if<refused>(&*no);
                    return done(refusal != nullptr ? unknown{refusal->why()} : std::get<unknown>(*no));
                }
                if (const auto& lost = std::get<redis::reply>(o); !lost.is_array() || !lost.items().empty())
                    return done(unknown{{make_error_code(errc::unknown_outcome),
                                         "the lease expired before the whole lease could be set"}});
                done(granted{.lease = given, .repeated = true, .kept_for = handed_lease});
            });
    }

    enum class may_take { no, yes };

    void take_fenced(const attempt_request& r, may_take take, time_point deadline,
                     handler<attempt_answer> done, then_look then) {
        const auto& name = r.key.name.str();
        const auto fences = helper_key('f', name);
        const decimal lease(r.lease.count());
        context_.db.eval(
            ref(redis_scripts::mutex_take_fenced), std::array<std::string_view, 2>{name, fences},
            std::array<std::string_view, 4>{r.owner.str(), lease.text(), fence_ttl,
                                            take == may_take::yes ? "1" : "0"},
            deadline,
            [fences, then, want = r.want, given = r.lease, done = std::move(done)](const redis::outcome& o) {
                if (auto no = no_grant(o, want)) return done(*std::move(no));
                if (says_fence(o)) return done(bad_fence_counter(fences));
                const auto items = std::get<redis::reply>(o).items();
                if (items.size() != 2) return done(unexpected_reply());
                if (items[0].integer() == 0) return done(held_by(items[1].text(), then));
                granted yes{given, static_cast<fence>(to_number(items[1].text()) * fences_per_unit)};
                if (want == intent::queue) yes.kept_for = handed_lease;
                done(yes);
            });
    }

    void enqueue(const attempt_request& r, time_point deadline, handler<attempt_answer> done) {
        const auto& name = r.key.name.str();
        const auto queue = helper_key('q', name);
        const auto wakes = wake_channels_->names_for(name);
        const decimal lease(r.lease.count());
        context_.db.eval(ref(redis_scripts::mutex_enqueue), std::array<std::string_view, 2>{name, queue},
                         std::array<std::string_view, 6>{r.owner.str(), lease.text(), handed_lease_text,
                                                         wakes.prefix, queue_ttl, wakes.publish},
                         deadline,
                         [this, r = r, deadline, done = std::move(done)](const redis::outcome& o) mutable {
                             if (no_right(o)) {
                                 no_queue_.add(r.key.name.str(), boot_clock::now());
                                 return attempt(r, deadline, std::move(done));
                             }
                             // Try without the queue and poll often, because no message will come. A fence is
                             // a second key, so a fenced attempt has to wait.
                             if (!fenced_ && half_moved(o))
                                 return take(r, deadline, std::move(done), then_look::often);
                             if (auto no = no_grant(o, r.want)) return done(*std::move(no));
                             const auto& reply = std::get<redis::reply>(o);
                             // The waiter may have given up and left the queue meanwhile: do not take a free
                             // lock for it.
                             if (reply.is_integer())
                                 return fenced_ ? take_fenced(r, may_take::no, deadline, std::move(done),
                                                              then_look::at_leisure)
                                                : done(granted{.lease = r.lease, .kept_for = handed_lease});
                             const auto items = reply.items();
                             if (items.size() != 4) return done(unexpected_reply());
                             busy answer{items[2].text(), std::nullopt,
                                         fenced_ ? std::string{} : items[0].text(), handed_lease};
                             auto look_again = std::max(r.lease / 3, milliseconds{1});
                             if (items[1].integer() >= 0)
                                 look_again = std::min(look_again, milliseconds{items[1].integer() + 1});
                             if (items[3].integer() == 1) look_again = std::min(look_again, often());
                             answer.look_again = look_again;
                             done(std::move(answer));
                         });
    }

    void delete_if_owner(const release_request& r, time_point deadline, handler<release_answer> done) {
        send_release(context_,
                     {redis_scripts::mutex_delete_if_owner, redis_scripts::mutex_delete_if_owner_evicting}, r,
                     std::array<std::string_view, 1>{r.key.name.str()},
                     std::array<std::string_view, 1>{r.owner.str()}, deadline, std::move(done),
                     [](const redis::outcome& o, handler<release_answer> then) {
                         if (auto no = without_reply<release_answer>(o)) return then(*std::move(no));
                         if (std::get<redis::reply>(o).integer() == 0) return then(not_held{});
                         then(released{});
                     });
    }

    bool without_queue(const lock_key& key) { return no_queue_.has(key.name.str(), boot_clock::now()); }

    static busy held_by(std::string holder, then_look then) {
        busy answer{std::move(holder), std::nullopt, {}, {}};
        if (then == then_look::often) answer.look_again = often();
        if (answer.holder.empty()) answer.look_again = milliseconds{1};  // the lock is free again
        return answer;
    }

    // The poll gap if no message will come: 25 to 50 ms, random so that pollers do not run in step.
    static milliseconds often() { return milliseconds{25 + static_cast<int>(base::jitter() * 25)}; }

    store_context& context_;
    const bool fenced_;
    const std::shared_ptr<wake_channels> wake_channels_;
    refused_queues no_queue_;
    std::atomic<bool> takes_by_script_{false};  // one of the servers refuses SET with NX and GET
};

}  // namespace

std::unique_ptr<lock_protocol> make_string_mutex(store_context& context, bool fenced,
                                                 std::shared_ptr<wake_channels> channels) {
    return std::make_unique<string_mutex>(context, fenced, std::move(channels));
}

}  // namespace holdfast::redis_backend
