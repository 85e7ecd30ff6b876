#include "backends/local/space.hpp"

#include "base/text.hpp"

#include <unistd.h>
#include <algorithm>
#include <utility>

namespace holdfast::local_backend {

namespace {

using namespace backend;

constexpr std::int64_t largest_count = std::int64_t{1} << 53;  // as elsewhere
constexpr milliseconds handed_lease{3000};
constexpr milliseconds queue_ttl{120'000};

time_point add(time_point now, milliseconds lease) {
    return lease > time_point::max() - now ? time_point::max() : now + lease;
}

refused wrong_kind() { return {{make_error_code(errc::wrong_kind), {}}}; }

// Which kinds are one lock with another face, as they are on Redis.
enum class family { string, hash, shared, semaphore, latch };
family family_of(kind k) {
    switch (k) {
        case kind::native:
        case kind::native_fenced: return family::string;
        case kind::recursive:
        case kind::recursive_fenced:
        case kind::fair: return family::hash;
        case kind::shared_read:
        case kind::shared_write: return family::shared;
        case kind::semaphore:
        case kind::permit_semaphore: return family::semaphore;
        case kind::latch: break;
    }
    return family::latch;
}

bool keeps_line(kind k) { return k == kind::native || k == kind::native_fenced || k == kind::fair; }
bool gives_fences(kind k) { return k == kind::native_fenced || k == kind::recursive_fenced; }

std::string_view layout_name(kind k) {
    switch (k) {
        case kind::native:
        case kind::native_fenced: return "mutex";
        case kind::recursive: return "recursive_mutex";
        case kind::recursive_fenced: return "fenced_mutex";
        case kind::fair: return "fair_mutex";
        case kind::shared_read:
        case kind::shared_write: return "shared_mutex";
        case kind::semaphore: return "counting_semaphore";
        case kind::permit_semaphore: return "permit_semaphore";
        case kind::latch: break;
    }
    return "latch";
}

void run(const std::vector<std::function<void()>>& after) {
    for (const auto& call : after) call();
}

}  // namespace

std::shared_ptr<space> space::named(const std::string& name) {
    static base::mutex mutex;
    static std::map<std::string, std::weak_ptr<space>> spaces;
    base::guard lock(mutex);
    auto& known = spaces[name];
    auto s = known.lock();
    if (!s) known = s = std::make_shared<space>();
    return s;
}

// --- what stands under one name ---------------------------------------------------------------------

template <class Which>
std::size_t space::slot::remove(Which which) {
    return std::erase_if(holders, [&](const holder& h) {
        const bool goes = which(h);
        if (goes && count) *count += h.holds;
        return goes;
    });
}

void space::slot::forget_expired(time_point now) {
    remove([&](const holder& h) { return h.expires <= now; });
}

bool space::slot::is_another_kind(kind k) const {
    if (count) return family_of(counts) != family_of(k);
    return !holders.empty() && family_of(holders.front().of) != family_of(k);
}

space::holder* space::slot::find(kind of, const owner_id& owner) {
    const auto it = std::find_if(holders.begin(), holders.end(),
                                 [&](const holder& h) { return h.of == of && h.owner == owner; });
    return it == holders.end() ? nullptr : &*it;
}

// Readers go in beside readers, and whoever writes may read as well.
bool space::slot::open_to(const attempt_request& r) const {
    if (family_of(r.key.of) == family::semaphore) return count && *count >= r.permits;
    return std::all_of(holders.begin(), holders.end(), [&](const holder& h) {
        return r.key.of == kind::shared_read && (h.of == kind::shared_read || h.owner == r.beside);
    });
}

// --- the verbs --------------------------------------------------------------------------------------

attempt_answer space::attempt(const attempt_request& r) {
    calls after;
    attempt_answer answer = [&] {
        base::guard lock(mutex_);
        auto a = take(r, after);
        forget_if_idle(r.key.name);  // a counter that nobody has set
        return a;
    }();
    run(after);
    return answer;
}

attempt_answer space::take(const attempt_request& r, calls& after) {
    const auto now = boot_clock::now();
    auto& s = slots_[r.key.name];
    s.forget_expired(now);
    if (s.is_another_kind(r.key.of)) return wrong_kind();
    if (r.key.of == kind::latch) return look_at(s);
    if (s.holders.empty() && !s.queue.empty()) {
        // The first in line goes first; it may be the one that asks.
        if (s.queue.front().owner == r.owner)
            s.queue.pop_front();
        else
            (void)pass(s, after);
    }
    if (r.total && !s.count) {
        s.count = r.total;
        s.counts = r.key.of;
        (void)tell_all(r.key.name, r.owner, after);
    }
    if (auto* mine = s.find(r.key.of, r.owner)) {
        mine->expires = std::max(mine->expires, add(now, r.lease));
    } else if (s.open_to(r)) {
        s.holders.push_back({r.key.of, r.owner, add(now, r.lease), r.permits});
        if (s.count) *s.count -= r.permits;
    } else if (family_of(r.key.of) == family::semaphore) {
        return not_enough(s, now);
    } else {
        const auto& first = s.holders.front();
        const auto frees = std::max_element(s.holders.begin(), s.holders.end(), [](auto& a, auto& b) {
                               return a.expires < b.expires;
                           })->expires;
        busy no{first.owner.str(), std::chrono::ceil<milliseconds>(frees - now) + milliseconds{1}, {}, {}};
        if (r.want != intent::queue || !keeps_line(r.key.of)) return no;
        auto place =
            std::find_if(s.queue.begin(), s.queue.end(), [&](const waiter& w) { return w.owner == r.owner; });
        if (place == s.queue.end())
            place = s.queue.insert(place, {r.key.of, r.owner, next_ticket_++, now, {}});
        place->forgotten_at = now + queue_ttl;
        if (r.key.of == kind::native) no.ticket = std::to_string(place->ticket);
        no.handed_lease = handed_lease;
        no.look_again = std::min(*no.look_again, std::max(r.lease / 3, milliseconds{1}));
        return no;
    }
    std::erase_if(s.queue, [&](const waiter& w) { return w.owner == r.owner; });
    if (!gives_fences(r.key.of)) return granted{};
    s.last_fence = next_fence_;
    next_fence_ += 16;
    return granted{static_cast<fence>(s.last_fence)};
}

attempt_answer space::look_at(const slot& latch) {
    if (latch.count.value_or(0) <= 0) return granted{};
    return busy{std::to_string(*latch.count), std::nullopt, {}, {}};
}

attempt_answer space::not_enough(const slot& semaphore, time_point now) {
    busy no;
    const auto next = std::min_element(semaphore.holders.begin(), semaphore.holders.end(),
                                       [](auto& a, auto& b) { return a.expires < b.expires; });
    if (next != semaphore.holders.end())
        no.look_again = std::chrono::ceil<milliseconds>(next->expires - now) + milliseconds{1};
    return no;
}

renew_answer space::renew(const renew_request& r) {
    base::guard lock(mutex_);
    const auto now = boot_clock::now();
    const auto it = slots_.find(r.key.name);
    auto* const mine = it == slots_.end() ? nullptr : it->second.find(r.key.of, r.owner);
    if (mine == nullptr || mine->expires <= now) return renew_answer::lost;
    mine->expires = std::max(mine->expires, add(now, r.lease));
    if (r.holds != 0) mine->holds = r.holds;
    return renew_answer::renewed;
}

release_answer space::release(const release_request& r) {
    calls after;
    release_answer answer = [&]() -> release_answer {
        base::guard lock(mutex_);
        return give_back(r, after);
    }();
    run(after);
    return answer;
}

release_answer space::give_back(const release_request& r, calls& after) {
    if (r.key.of == kind::latch) return released{};
    const auto it = slots_.find(r.key.name);
    if (it == slots_.end()) return not_held{};
    auto& s = it->second;
    s.forget_expired(boot_clock::now());
    if (r.undo) std::erase_if(s.queue, [&](const waiter& w) { return w.owner == r.owner; });
    const bool mine = s.remove([&](const holder& h) { return h.of == r.key.of && h.owner == r.owner; }) != 0;
    const bool passed = s.holders.empty() && pass(s, after);
    std::uint32_t told = 0;
    // A writer that goes leaves room for readers, though it may be a reader itself from now on.
    const bool room = s.holders.empty() || s.count || r.key.of == kind::shared_write;
    if (mine && room && !keeps_line(r.key.of)) told = tell_all(r.key.name, r.owner, after);
    forget_if_idle(r.key.name);
    if (!mine) return not_held{};
    return released{told, passed};
}

adjust_answer space::adjust(const adjust_request& r) {
    calls after;
    adjust_answer answer = [&]() -> adjust_answer {
        base::guard lock(mutex_);
        auto& s = slots_[r.key.name];
        s.forget_expired(boot_clock::now());
        if (s.is_another_kind(r.key.of)) return wrong_kind();
        const auto before = s.count;
        const adjusted done{s.adjust(r)};
        if (s.count != before && (!s.count || *s.count > before.value_or(0)))
            (void)tell_all(r.key.name, {}, after);
        forget_if_idle(r.key.name);
        return done;
    }();
    run(after);
    return answer;
}

std::int64_t space::slot::adjust(const adjust_request& r) {
    const auto now = count.value_or(0);
    switch (r.what) {
        case adjustment::read: return now;
        case adjustment::set_if_unset:
            if (count) return 0;
            count = r.amount;
            counts = r.key.of;
            return 1;
        case adjustment::add:
            count = std::clamp(now + r.amount, -largest_count, largest_count);
            counts = r.key.of;
            return *count;
        case adjustment::drain:
            if (count) count = 0;
            return now;
        case adjustment::count_down:
            if (now > r.amount)
                count = now - r.amount;
            else
                count.reset();
            return count.value_or(0);
        case adjustment::erase: return std::exchange(count, std::nullopt) ? 1 : 0;
        case adjustment::raise_fence: return 0;
        case adjustment::give_back:
            return remove([&](const holder& h) { return h.owner == r.owner; }) != 0 ? 0 : -1;
        case adjustment::disown: break;
    }
    return std::erase_if(holders, [&](const holder& h) { return h.owner == r.owner; }) != 0 ? 1 : 0;
}

bool space::pass(slot& s, calls& after) {
    while (!s.queue.empty()) {
        const auto head = s.queue.front();
        s.queue.pop_front();
        const auto it = watchers_.find({head.of, head.owner});
        if (it == watchers_.end() || head.forgotten_at <= boot_clock::now()) continue;
        s.holders.push_back({head.of, head.owner, boot_clock::now() + handed_lease});
        // A fence is taken by asking, so that it is newer than every other.
        const auto ticket = head.of == kind::native ? std::to_string(head.ticket) : std::string{};
        after.emplace_back([tell = it->second.tell, ticket] {
            (*tell)({watch_event::change::woken, {ticket}});
        });
        return true;
    }
    return false;
}

std::uint32_t space::tell_all(const lock_name& name, const owner_id& but, calls& after) {
    std::uint32_t told = 0;
    for (const auto& [id, w] : watchers_) {
        if (w.name != name || id.second == but) continue;
        after.emplace_back([tell = w.tell] { (*tell)({watch_event::change::woken, {}}); });
        ++told;
    }
    return told;
}

void space::forget_if_idle(const lock_name& name) {
    const auto it = slots_.find(name);
    if (it != slots_.end() && it->second.holders.empty() && it->second.queue.empty() && !it->second.count)
        slots_.erase(it);
}

lock_info space::describe(const lock_name& name, const slot& s, time_point now) const {
    lock_info info{name, "free", true, {}, {}, {}, {}, {}};
    if (s.last_fence != 0) info.last_fence = s.last_fence;
    info.count = s.count;
    if (s.count) info.layout = layout_name(s.counts);
    for (const auto& w : s.queue) {
        info.queue.push_back(
            {w.owner.str(), {}, ::getpid(), std::chrono::floor<milliseconds>(now - w.since)});
    }
    for (const auto& h : s.holders) {
        if (h.expires <= now) {
            if (info.count) *info.count += h.holds;
            continue;
        }
        info.layout = layout_name(h.of);
        if (!s.count)
            info.ttl = std::max(info.ttl.value_or(milliseconds{0}),
                                std::chrono::floor<milliseconds>(h.expires - now));
        info.holders.push_back({h.owner.str(),
                                h.holds,
                                h.of == kind::shared_write,
                                {},
                                ::getpid(),
                                std::nullopt,
                                presence::connected});
    }
    return info;
}

lock_info space::inspect(const lock_name& name) {
    base::guard lock(mutex_);
    const auto it = slots_.find(name);
    if (it == slots_.end()) return {name, "free", false, {}, {}, {}, {}, {}};
    return describe(name, it->second, boot_clock::now());
}

std::vector<lock_info> space::list(const std::string& glob) {
    base::guard lock(mutex_);
    std::vector<lock_info> found;
    const auto now = boot_clock::now();
    for (const auto& [name, s] : slots_) {
        if (!base::glob_match(glob, name.str())) continue;
        if (auto info = describe(name, s, now); !info.holders.empty()) found.push_back(std::move(info));
    }
    return found;
}

std::vector<owner_id> space::evict(const lock_name& name) {
    calls after;
    std::vector<owner_id> evicted;
    {
        base::guard lock(mutex_);
        const auto it = slots_.find(name);
        if (it == slots_.end()) return {};
        it->second.forget_expired(boot_clock::now());
        const auto holders = it->second.holders;
        for (const auto& h : holders) {
            (void)give_back({{h.of, name}, h.owner, false}, after);
            evicted.push_back(h.owner);
        }
    }
    run(after);
    return evicted;
}

void space::watch(const lock_key& key, const owner_id& owner, const std::shared_ptr<watch_handler>& tell) {
    {
        base::guard lock(mutex_);
        watchers_.insert_or_assign({key.of, owner}, watcher{key.name, tell});
    }
    (*tell)({watch_event::change::watching, {}});
}

void space::unwatch(const lock_key& key, const owner_id& owner) {
    base::guard lock(mutex_);
    watchers_.erase({key.of, owner});
}

}  // namespace holdfast::local_backend
