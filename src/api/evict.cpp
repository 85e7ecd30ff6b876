#include "api/access.hpp"
#include "api/look.hpp"
#include "base/parker.hpp"

#include <holdfast/admin.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace holdfast::admin {

namespace {

using backend::time_point;
using std::chrono::milliseconds;

// A holder confirms before it releases, but its message may arrive after the answer that it no longer holds.
constexpr milliseconds confirmation_delay{1000};
// A holder that has confirmed releases at once, and need not: its lease has ended.
constexpr milliseconds release_delay{1000};
constexpr milliseconds longest_wait = std::chrono::hours{1};
// How long a waiter whose client does not listen may stay away before it counts as dead. The holder may have
// used up the other second.
constexpr milliseconds time_to_come_back{1000};
// Holders are asked again meanwhile: an acquisition may have been under way, the lock may have passed to
// another thread, or the client was not listening yet.
constexpr milliseconds first_pause{5};
constexpr milliseconds longest_pause{100};
// Rounds go on while the holders that were seen end by themselves.
constexpr int rounds = 100;

class evicting {
  public:
    evicting(session::client_state& state, const lock_name& name, const evict_options& options)
        : client_(state), name_(name), options_(options) {}

    eviction run() {
        if (const auto no = session::client_state::objection_to(name_, client_.store()))
            throw error(no->code, failed() + ": " + no->text);
        if (options_.wait < milliseconds{1} || options_.wait > longest_wait)
            throw error(errc::invalid_argument, failed() + ": wait must be 1ms to 1h");
        for (int round = 0; round < rounds && result_.from.empty(); ++round) {
            const auto seen = inspect();
            if (seen.layout == "free") {
                if (seen.dead_waiters > 0) clear_line();
                break;
            }
            if (round == 0) {
                refuse_what_is_no_lock(seen);
                for (const auto& h : seen.holders) shown_.insert(h.owner);
            }
            auto holders = holders_to_evict(seen);
            if (asked_one_that_ended_ && !holders.empty()) result_.other = holders.front().who;
            if (asked_one_that_ended_ || holders.empty()) break;
            take_from(std::move(holders));
        }
        // A holder may end by itself, lock again and then be evicted.
        std::erase_if(result_.gone, [&](const auto& g) {
            return std::any_of(result_.from.begin(), result_.from.end(),
                               [&](const auto& f) { return f.who.owner == g.owner; });
        });
        // A lease of this client must not look valid when this returns.
        if (!result_.from.empty()) client_.look_for_losses(name_);
        return std::move(result_);
    }

  private:
    struct open_holder {
        holder_info who;
        bool notified = false;  // its client has received the request
        bool gave_up = false;   // its client has confirmed that its lease has ended
        bool holds = true;
        std::optional<time_point> gone_since{};     // when it was first seen to hold no more
        std::optional<time_point> gave_up_since{};  // when this was first known

        // Its answer or its release may still arrive.
        [[nodiscard]] bool may_end(time_point now) const {
            if (gave_up) return holds && now < *gave_up_since + release_delay;
            if (!holds) return notified && now < *gone_since + confirmation_delay;
            return notified || (!who.ask_at.empty() && who.client != backend::presence::gone);
        }
        void give_up() {
            gave_up = true;
            if (!gave_up_since) gave_up_since = boot_clock::now();
        }
    };

    [[nodiscard]] std::string failed() const { return "evicting \"" + name_.printable() + "\" failed"; }

    template <class T, class Send>
    T look(Send send) {
        return detail::look<T>(client_, detail::answers_to_inspect, failed(), std::move(send));
    }

    lock_info inspect() {
        return look<lock_info>([&](auto& there, auto until, auto done) {
            there.inspect(name_, backend::holders_shown::all, until, std::move(done));
        });
    }

    std::vector<std::string> line(const std::vector<std::string>& absent) {
        return look<std::vector<std::string>>([&](auto& there, auto until, auto done) {
            there.clear_line(name_, absent, until, std::move(done));
        });
    }

    // A client that lost its connection soon comes back: only waiters that stay away are dead.
    void clear_line() {
        auto absent = line({});
        if (!options_.owners.empty()) std::erase_if(absent, [&](const auto& owner) { return !named(owner); });
        if (absent.empty()) return;
        base::parker pause;
        const auto until = boot_clock::now() + time_to_come_back;
        while (boot_clock::now() < until) pause.park_until(until);
        result_.dead_waiters = line(absent).size();
        result_.waiters_back = absent.size() - result_.dead_waiters;
    }

    [[nodiscard]] bool named(const std::string& owner) const {
        return std::find(options_.owners.begin(), options_.owners.end(), owner) != options_.owners.end();
    }

    // One deadline for all requests, in all rounds.
    time_point time_is_up() {
        if (!time_is_up_) time_is_up_ = boot_clock::now() + options_.wait;
        return *time_is_up_;
    }

    void refuse_what_is_no_lock(const lock_info& seen) const {
        if (seen.holders.empty())
            throw error(errc::wrong_kind, failed() + ": the key holds a " + seen.layout);
        if (!seen.may_be_data() || options_.force) return;
        const auto* const why = seen.ttl ? "is longer than the token of a lock"
                                         : "does not expire, while the token of a lock does";
        throw error(errc::wrong_kind, failed() + ": the key holds a string of " + std::to_string(seen.bytes) +
                                          " bytes that " + why + "; it is removed by force only");
    }

    // Sets `other` if a holder keeps the lock.
    std::vector<open_holder> holders_to_evict(const lock_info& seen) {
        std::vector<open_holder> found;
        result_.other.reset();
        result_.not_shown = seen.more_holders;
        for (const auto& h : seen.holders) {
            // A holder that came after the first look keeps the lock, and so does one that is not named.
            if (shown_.contains(h.owner) && (options_.owners.empty() || named(h.owner))) {
                found.push_back({h});
                continue;
            }
            if (!result_.other) result_.other = h;
            ++result_.not_shown;
        }
        return found;
    }

    void ask(open_holder& h) {
        if (h.who.ask_at.empty()) return;
        try {
            const auto answer = look<backend::asked>([&](auto& there, auto until, auto done) {
                there.ask_to_give_up(name_, h.who, until, std::move(done));
            });
            h.notified = h.notified || answer.listeners > 0;
            if (answer.gave_up) h.give_up();
            h.holds = answer.holds;
            if (h.holds)
                h.gone_since.reset();
            else if (!h.gone_since)
                h.gone_since = boot_clock::now();
        } catch (const error& e) {
            // For example, the user may not send messages. The removal will show whether anything works.
            if (e.code() != condition::misuse) throw;
        }
    }

    void take_from(std::vector<open_holder> open) {
        // Needs no message: this client knows at once. Permits that were acquired together end together.
        std::set<std::string> ended;
        for (auto& h : open) {
            const auto& lease = h.who.lease.empty() ? h.who.owner : h.who.lease;
            if (!ended.contains(lease) && !client_.give_up(owner_id{lease})) continue;
            h.give_up();
            ended.insert(lease);
        }
        base::parker pause;
        const auto enough = time_is_up();
        for (auto wait = first_pause;; wait = std::min(2 * wait, longest_pause)) {
            for (auto& h : open) {
                const auto now = boot_clock::now();
                if (h.may_end(now) && now < enough) ask(h);
            }
            const auto now = boot_clock::now();
            const auto may_end = [&](const open_holder& h) { return h.may_end(now); };
            if (now >= enough || std::none_of(open.begin(), open.end(), may_end)) break;
            pause.park_until(std::min(enough, now + wait));
        }
        const auto taken = remove(open);
        const auto removed_at = boot_clock::now();
        for (auto& h : open) {
            if (h.notified && !h.gave_up) await_confirmation(h, taken, removed_at);
            end(h, taken);
        }
    }

    // It is not asked again: the same owner may hold another grant by now.
    void await_confirmation(open_holder& h, const std::vector<backend::evicted>& taken, time_point now) {
        auto seen = h.who;
        seen.ask_at.clear();
        const bool removed =
            std::any_of(taken.begin(), taken.end(), [&](const auto& t) { return t.owner == h.who.owner; });
        const auto enough = removed ? now : h.gone_since.value_or(now) + confirmation_delay;
        base::parker pause;
        for (auto wait = first_pause;; wait = std::min(2 * wait, longest_pause)) {
            h.gave_up = look<backend::asked>([&](auto& there, auto until, auto done) {
                            there.ask_to_give_up(name_, seen, until, std::move(done));
                        }).gave_up;
            now = boot_clock::now();
            if (h.gave_up || now >= enough) return;
            pause.park_until(std::min(enough, now + wait));
        }
    }

    std::vector<backend::evicted> remove(const std::vector<open_holder>& open) {
        std::vector<std::string> owners;
        for (const auto& h : open)
            if (h.holds) owners.push_back(h.who.owner);
        if (owners.empty()) return {};
        return look<std::vector<backend::evicted>>(
            [&](auto& there, auto until, auto done) { there.evict(name_, owners, until, std::move(done)); });
    }

    // A holder that neither gave up for this eviction nor had to be removed is gone.
    void end(const open_holder& h, const std::vector<backend::evicted>& taken) {
        using way = evicted_holder::way;
        if (h.gave_up) return result_.from.push_back({h.who, way::gave_up, {}});
        bool removed = false;
        std::optional<milliseconds> left{0};
        for (const auto& t : taken) {
            if (t.owner != h.who.owner) continue;
            removed = true;
            // The longest over several servers; empty means a lease without an end, which is longest.
            left = left && t.left ? std::max(left, t.left) : std::nullopt;
        }
        if (removed)
            return result_.from.push_back({h.who, h.notified ? way::silent : way::unreachable, left});
        if (std::none_of(result_.gone.begin(), result_.gone.end(),
                         [&](const auto& g) { return g.owner == h.who.owner; }))
            result_.gone.push_back(h.who);
        asked_one_that_ended_ = asked_one_that_ended_ || h.notified;
    }

    session::client_state& client_;
    const lock_name& name_;
    const evict_options& options_;
    eviction result_;
    std::set<std::string> shown_;  // the holders when this began
    // For example, another eviction took the lock from it. From then on nothing is taken: a thread that locks
    // again has the same owner, but holds another grant.
    bool asked_one_that_ended_ = false;
    std::optional<time_point> time_is_up_;
};

}  // namespace

eviction evict(client& on, const lock_name& name, const evict_options& options) {
    auto& state = *detail::access::state_of(on);
    state.check_usable();
    return evicting{state, name, options}.run();
}

}  // namespace holdfast::admin
