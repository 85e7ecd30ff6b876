#include "engine/lock_record.hpp"

#include "engine/kinds.hpp"

#include <algorithm>

namespace holdfast::engine {

namespace {

using namespace backend;

family family_of(kind k) { return rules_of(k).belongs_to; }

std::int64_t bounded(std::int64_t count) { return std::clamp(count, -largest_count, largest_count); }

store_time later(store_time now, milliseconds span) {
    return span > store_time::max() - now ? store_time::max() : now + span;
}

// A wait of this length ends after `then`.
milliseconds until_after(store_time then, store_time now) {
    return std::chrono::ceil<milliseconds>(then - now) + milliseconds{1};
}

bool earlier_end(const lock_record::holder& a, const lock_record::holder& b) { return a.expires < b.expires; }

// One request and the record it applies to.
class transaction {
  public:
    transaction(lock_record& r, const circumstances& c) : r_(r), c_(c) {
        remove([&](const auto& h) { return h.expires <= c_.now; });
        std::erase_if(r_.operations, [&](const auto& o) { return o.forgotten_at <= c_.now; });
    }

    attempt_answer take(const attempt_request& q);
    renew_answer renew(const renew_request& q);
    release_answer release(const release_request& q);
    adjust_answer adjust(const adjust_request& q);

    messages notify;

  private:
    // Removes holders and frees their permits. Returns the number of holders removed.
    template <class Which>
    std::size_t remove(Which which) {
        return std::erase_if(r_.holders, [&](const auto& h) {
            const bool goes = which(h);
            if (goes && r_.count) r_.count->value = bounded(r_.count->value + h.holds);
            return goes;
        });
    }
    [[nodiscard]] bool is_another_kind(kind k) const {
        if (r_.count) return family_of(r_.count->of) != family_of(k);
        return !r_.holders.empty() && family_of(r_.holders.front().of) != family_of(k);
    }
    [[nodiscard]] lock_record::holder* find(kind of, const owner_id& owner) {
        const auto it = std::find_if(r_.holders.begin(), r_.holders.end(),
                                     [&](const auto& h) { return h.of == of && h.owner == owner; });
        return it == r_.holders.end() ? nullptr : &*it;
    }
    // Readers share the lock, and a writer may read as well.
    [[nodiscard]] bool open_to(const attempt_request& q) const {
        if (family_of(q.key.of) == family::semaphore) return r_.count && r_.count->value >= q.permits;
        return std::all_of(r_.holders.begin(), r_.holders.end(), [&](const auto& h) {
            return q.key.of == kind::shared_read &&
                   (h.of == kind::shared_read || h.owner == q.downgrading_from);
        });
    }
    [[nodiscard]] granted grant(lock_record::holder& to, const attempt_request& q);
    [[nodiscard]] busy not_enough() const;
    [[nodiscard]] busy held(const attempt_request& q);
    void leave_line(const owner_id& owner) {
        std::erase_if(r_.queue, [&](const auto& w) { return w.owner == owner; });
    }
    void tell_all(owner_id but) {
        notify.all = true;
        notify.but = std::move(but);
    }
    bool hand_over();
    std::int64_t count(const adjust_request& q);

    lock_record& r_;
    const circumstances& c_;
};

refused wrong_kind() { return {{make_error_code(errc::wrong_kind), {}}}; }

attempt_answer transaction::take(const attempt_request& q) {
    if (is_another_kind(q.key.of)) return wrong_kind();
    if (q.key.of == kind::latch) {
        const auto left = r_.count ? r_.count->value : 0;
        if (left <= 0) return granted{q.lease};
        return busy{std::to_string(left), std::nullopt, {}, {}};
    }
    if (r_.holders.empty() && !r_.queue.empty()) {
        // The head of the queue goes first; it may be the one that asks.
        if (r_.queue.front().owner == q.owner)
            r_.queue.erase(r_.queue.begin());
        else
            (void)hand_over();
    }
    if (q.total && !r_.count) {
        r_.count = {q.key.of, bounded(*q.total)};
        tell_all(q.owner);
    }
    if (auto* mine = find(q.key.of, q.owner)) {
        mine->expires = std::max(mine->expires, later(c_.now, q.lease));
        return grant(*mine, q);
    }
    if (open_to(q)) {
        if (r_.count) r_.count->value -= q.permits;
        return grant(r_.holders.emplace_back(
                         lock_record::holder{q.key.of, q.owner, later(c_.now, q.lease), q.permits}),
                     q);
    }
    if (family_of(q.key.of) == family::semaphore) return not_enough();
    return held(q);
}

granted transaction::grant(lock_record::holder& to, const attempt_request& q) {
    leave_line(q.owner);
    granted yes{q.lease};
    yes.kept_for = std::chrono::ceil<milliseconds>(to.expires - c_.now);
    if (rules_of(q.key.of).fenced) {
        r_.last_fence = to_number(c_.next_fence);
        yes.fence = c_.next_fence;
    }
    return yes;
}

busy transaction::not_enough() const {
    busy no;
    const auto next = std::min_element(r_.holders.begin(), r_.holders.end(), earlier_end);
    if (next != r_.holders.end()) no.look_again = until_after(next->expires, c_.now);
    return no;
}

busy transaction::held(const attempt_request& q) {
    const auto frees = std::max_element(r_.holders.begin(), r_.holders.end(), earlier_end)->expires;
    busy no{r_.holders.front().owner.str(), until_after(frees, c_.now), {}, {}};
    if (q.want != intent::queue || !rules_of(q.key.of).has_queue) return no;
    auto place =
        std::find_if(r_.queue.begin(), r_.queue.end(), [&](const auto& w) { return w.owner == q.owner; });
    if (place == r_.queue.end()) place = r_.queue.insert(place, {q.key.of, q.owner, c_.ticket, c_.now, {}});
    place->forgotten_at = later(c_.now, line_patience);
    no.look_again = std::min(*no.look_again, std::max(q.lease / 3, milliseconds{1}));
    if (c_.polls) {
        place->ticket = 0;
        no.look_again = std::min(*no.look_again, polls_within / 2);
        return no;
    }
    if (place->ticket == 0) place->ticket = c_.ticket;
    if (q.key.of == kind::native) no.ticket = std::to_string(place->ticket);
    no.handed_lease = handed_lease;
    return no;
}

// Hands a free lock to the first waiter that messages reach, or that finds out by itself soon. Passing over
// the latter would starve it: it asks at times when others have the lock, which is handed from one to the
// next. False if there is none.
bool transaction::hand_over() {
    while (!r_.queue.empty()) {
        const auto head = std::move(r_.queue.front());
        r_.queue.erase(r_.queue.begin());
        const bool polls = head.ticket == 0;
        const bool asks_soon = polls && head.forgotten_at - line_patience + polls_within >= c_.now;
        const bool hears = !c_.reaches || c_.reaches(head.of, head.owner);
        if (head.forgotten_at <= c_.now || (!hears && !asks_soon)) continue;
        r_.holders.push_back({head.of, head.owner, later(c_.now, handed_lease)});
        if (!hears) return true;
        // Without a ticket the waiter asks for the lock, so its fence is newer than every other.
        const bool proves = head.of == kind::native && !polls;
        notify.handed.push_back({head.of, head.owner, proves ? std::to_string(head.ticket) : std::string{}});
        return true;
    }
    return false;
}

renew_answer transaction::renew(const renew_request& q) {
    auto* const mine = find(q.key.of, q.owner);
    if (mine == nullptr) return not_held{};
    mine->expires = std::max(mine->expires, later(c_.now, q.lease));
    if (q.holds != 0) mine->holds = q.holds;
    return renewed{q.lease};
}

release_answer transaction::release(const release_request& q) {
    if (q.key.of == kind::latch) return released{};
    if (q.undo) leave_line(q.owner);
    const bool mine = remove([&](const auto& h) { return h.of == q.key.of && h.owner == q.owner; }) != 0;
    const bool passed = r_.holders.empty() && hand_over();
    // A writer's release leaves room for readers, even if that writer goes on as a reader.
    const bool room = r_.holders.empty() || r_.count || q.key.of == kind::shared_write;
    if (mine && room && !rules_of(q.key.of).has_queue) tell_all(q.owner);
    if (!mine) return not_held{};
    return released{0, passed};
}

adjust_answer transaction::adjust(const adjust_request& q) {
    if (is_another_kind(q.key.of)) return wrong_kind();
    const auto same = [&](const auto& o) { return o.id == q.operation; };
    if (const auto before = std::find_if(r_.operations.begin(), r_.operations.end(), same);
        before != r_.operations.end() && !q.operation.empty())
        return adjusted{before->result};
    const auto had = r_.count;
    const adjusted done{count(q)};
    if (r_.count != had && (!r_.count || r_.count->value > (had ? had->value : 0))) tell_all({});
    const bool may_be_repeated = q.what == adjustment::read || q.what == adjustment::raise_fence;
    if (c_.remembers > milliseconds::zero() && !may_be_repeated)
        r_.operations.push_back({q.operation, done.value, later(c_.now, c_.remembers)});
    return done;
}

std::int64_t transaction::count(const adjust_request& q) {
    const auto now = r_.count ? r_.count->value : 0;
    const auto set = [&](std::int64_t value) {
        r_.count = {q.key.of, value};
        return value;
    };
    const auto is_of_owner = [&](const auto& h) { return h.owner == q.owner; };
    switch (q.what) {
        case adjustment::read: break;
        case adjustment::raise_fence: {
            const auto holds = [&](const auto& h) { return h.of == q.key.of && h.owner == q.owner; };
            if (std::ranges::none_of(r_.holders, holds)) return 0;
            r_.last_fence =
                std::max(r_.last_fence, static_cast<std::uint64_t>(std::max<std::int64_t>(q.amount, 0)));
            return 1;
        }
        case adjustment::set_if_unset:
            if (r_.count) return 0;
            (void)set(bounded(q.amount));
            return 1;
        case adjustment::add:
            return set(bounded(now + std::clamp(q.amount, -2 * largest_count, 2 * largest_count)));
        case adjustment::drain:
            if (r_.count) r_.count->value = 0;
            return now;
        case adjustment::count_down:
            if (now > q.amount) return set(bounded(now - std::max(q.amount, -largest_count)));
            r_.count.reset();
            return 0;
        case adjustment::erase: return std::exchange(r_.count, std::nullopt) ? 1 : 0;
        case adjustment::release: return remove(is_of_owner) != 0 ? 0 : -1;
        // They do not become free: the count stays as it is.
        case adjustment::disown: return std::erase_if(r_.holders, is_of_owner) != 0 ? 1 : 0;
    }
    return q.what == adjustment::read ? now : 0;
}

}  // namespace

applied<attempt_answer> apply(lock_record& r, const attempt_request& q, const circumstances& c) {
    transaction t(r, c);
    auto answer = t.take(q);
    return {std::move(answer), std::move(t.notify)};
}

applied<renew_answer> apply(lock_record& r, const renew_request& q, const circumstances& c) {
    transaction t(r, c);
    auto answer = t.renew(q);
    return {std::move(answer), std::move(t.notify)};
}

applied<release_answer> apply(lock_record& r, const release_request& q, const circumstances& c) {
    transaction t(r, c);
    auto answer = t.release(q);
    return {std::move(answer), std::move(t.notify)};
}

applied<adjust_answer> apply(lock_record& r, const adjust_request& q, const circumstances& c) {
    transaction t(r, c);
    auto answer = t.adjust(q);
    return {std::move(answer), std::move(t.notify)};
}

}  // namespace holdfast::engine
