// What the clients of a redlock keep on its members.
//
// The membership key is a mutex that all clients with the same members own; its text lists the members. It
// is written when a caller is about to lock, after the connected members were compared: a client that only
// inspects, or is refused, leaves nothing behind.
//
// On a promoted member clients also note when they first saw the promotion, so that later clients need not
// sit out a full quarantine (backend::store::age_of_promotion).
#include "backends/redlock/members.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace holdfast::redlock_backend {

namespace {

using namespace backend;

// After this time without a client, the servers may be used with other members.
constexpr milliseconds key_lease = std::chrono::hours{24};
// The pause before the next try: a person must fix something, or the server is loading.
constexpr milliseconds key_retry_pause{1'000};

std::set<std::string> addresses_in(std::string_view agreement) {
    std::set<std::string> found;
    auto rest = agreement.substr(std::min(agreement.find(' '), agreement.size() - 1) + 1);
    while (!rest.empty()) {
        const auto one = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        found.emplace(one);
    }
    return found;
}

std::string list_of_missing(const std::set<std::string>& here, const std::set<std::string>& there) {
    std::string text;
    for (const auto& a : here) {
        if (!there.contains(a)) text.append(text.empty() ? "" : ", ").append(base::printable(a));
    }
    return text.empty() ? "none" : text;
}

}  // namespace

// "5 a:1,b:2,...": the number and the sorted addresses.
owner_id members::key_text_of(const redlock_config& wanted) {
    std::set<std::string> addresses;
    for (const auto& m : wanted.members) addresses.insert(m.address);
    std::string text = std::to_string(addresses.size());
    char separator = ' ';
    for (const auto& a : addresses) text.append(1, std::exchange(separator, ',')).append(a);
    return owner_id{std::move(text)};
}

std::optional<members::difference> members::difference_to(std::string_view written) const {
    if (written == key_text_.str()) return std::nullopt;
    const auto ours = addresses_in(key_text_.str());
    const auto others = addresses_in(written);
    return difference{list_of_missing(ours, others), list_of_missing(others, ours)};
}

std::string members::how_it_differs(std::string_view written) const {
    const auto [only_here, only_there] = difference_to(written).value_or(difference{});
    return "is used with other members by other clients, so that two majorities need not meet: only here "
           "there is " +
           only_here + ", only there " + only_there +
           "; write the same addresses everywhere, or give this redlock a name= of its own, or delete the "
           "key " +
           key_.printable() + " there once no client uses the old ones";
}

void members::begin_locking() {
    if (wanted_.load(std::memory_order_relaxed) || wanted_.exchange(true)) return;
    reactor.post([weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self || self->closed()) return;
        {
            base::guard lock(self->mutex_);
            self->wanted_since_ = boot_clock::now();
        }
        self->later(self->wanted.node_timeout, &members::agree);
        self->later(key_lease / 3, &members::renew_keys);
        self->agree();
    });
}

// Two addresses may lead to one server, which shows when both are connected. So this waits for all members,
// but not for long: a majority need not wait for a dead member.
void members::agree() {
    std::vector<std::pair<std::size_t, unsigned>> now_asked;
    {
        base::guard lock(mutex_);
        if (!wanted_since_ || !wrong_.empty()) return;
        engine::member_set usable;
        bool all_known = true;
        for (std::size_t i = 0; i < size(); ++i) {
            const auto& m = *members_[i];
            if (m.up && !m.replica) usable.set(first_of_server(i));
            all_known = all_known && m.known;
        }
        if (!all_known && boot_clock::now() < *wanted_since_ + wanted.node_timeout) return;
        for (std::size_t i = 0; i < size(); ++i) {
            auto& m = *members_[i];
            if (!m.up || m.key != key_state::unasked) continue;
            // A replica stores nothing for us; the question shows when it is no longer a replica.
            if (usable.count() < engine::majority_of(size()) && !m.replica) continue;
            m.key = key_state::asked;
            now_asked.emplace_back(i, m.epoch);
        }
    }
    for (const auto& [i, epoch] : now_asked) ask_since(i, epoch);
}

// Runs `then` on the reactor, not on a thread that waits for a lock.
template <class Answer>
handler<Answer> members::on_reactor(std::size_t i, unsigned epoch,
                                    void (members::*then)(std::size_t, unsigned, const Answer&)) {
    return [weak = weak_from_this(), i, epoch, then](Answer answer) {
        const auto self = weak.lock();
        if (!self || self->closed()) return;
        self->reactor.post([weak, i, epoch, then, answer = std::move(answer)] {
            const auto again = weak.lock();
            if (again && !again->closed()) (again.get()->*then)(i, epoch, answer);
        });
    };
}

// --- since when -------------------------------------------------------------------------------------

void members::ask_since(std::size_t i, unsigned epoch) {
    std::string promotion;
    {
        base::guard lock(mutex_);
        const auto& m = *members_[i];
        if (m.epoch != epoch) return;
        if (wanted.quarantine && !m.replica) promotion = m.quarantine.promotion();
    }
    if (promotion.empty()) return write_key(i, epoch);
    member_at(i).age_of_promotion(promotion, backend::redlock_member::note::left,
                                  boot_clock::now() + settings.answer_timeout,
                                  on_reactor<result<milliseconds>>(i, epoch, &members::on_since));
}

void members::look_at_promotion(std::size_t i, time_point deadline,
                                handler<std::optional<milliseconds>> done) {
    std::string promotion;
    {
        base::guard lock(mutex_);
        const auto& m = *members_[i];
        if (wanted.quarantine && m.up && !m.replica && !m.quarantine.has_ended(boot_clock::now()))
            promotion = m.quarantine.promotion();
    }
    if (promotion.empty()) return done({});
    member_at(i).age_of_promotion(promotion, backend::redlock_member::note::looked_for, deadline,
                                  [done = std::move(done)](const result<milliseconds>& age) {
                                      const auto* const ago = std::get_if<milliseconds>(&age);
                                      done(ago != nullptr ? std::optional{*ago} : std::nullopt);
                                  });
}

// If the age is unknown, it counts from the time when we first connected.
void members::on_since(std::size_t i, unsigned epoch, const result<milliseconds>& age) {
    if (const auto* const ago = std::get_if<milliseconds>(&age)) {
        base::guard lock(mutex_);
        auto& m = *members_[i];
        if (m.epoch != epoch) return;
        m.quarantine.began_before(m.quarantine.run_id(), *ago, boot_clock::now());
    }
    write_key(i, epoch);
}

// --- which members ----------------------------------------------------------------------------------

void members::write_key(std::size_t i, unsigned epoch) {
    store(i).attempt({{kind::native, key_}, key_text_, key_lease},
                     boot_clock::now() + settings.answer_timeout,
                     on_reactor<attempt_answer>(i, epoch, &members::on_key));
}

void members::on_key(std::size_t i, unsigned epoch, const attempt_answer& answer) {
    const auto* ours = std::get_if<granted>(&answer);
    {
        base::guard lock(mutex_);
        auto& m = *members_[i];
        if (m.epoch != epoch) return;
        if (ours != nullptr) {
            m.key = key_state::agreed;
            m.key_is_new |= !ours->repeated;
            // It accepts writes, so it was promoted; when, and what it lacks, is not known.
            if (std::exchange(m.replica, false)) m.quarantine.restart(boot_clock::now());
        } else if (const auto* theirs = std::get_if<busy>(&answer)) {
            m.key = key_state::other;
            m.key_text = theirs->holder;
        } else {
            const auto* no = std::get_if<refused>(&answer);
            const auto why = no != nullptr ? no->why() : std::get<unknown>(answer);
            m.key = key_state::unreadable;
            m.key_text = why.in_one();
            m.key_error = why.code;
        }
        wrong_ = misuse();
    }
    if (ours == nullptr) {
        reactor.at(boot_clock::now() + key_retry_pause, [weak = weak_from_this(), i, epoch] {
            const auto self = weak.lock();
            if (self && !self->closed() && self->is_present(i, epoch)) self->write_key(i, epoch);
        });
    }
    take_back_keys();
    agree();
    review();
}

// If other clients use other members at our first comparison, we remove the keys that we wrote: they would
// keep out the clients that are right. Once all connected members agreed with us, other keys are the mistake
// of others.
void members::take_back_keys() {
    std::vector<std::size_t> ours;
    {
        base::guard lock(mutex_);
        std::size_t agreed = 0;
        bool open = false;
        bool others = false;
        for (const auto& m : members_) {
            agreed += m->up && m->key == key_state::agreed ? 1 : 0;
            open |= to_be_asked(*m);
            others |= m->up && m->key == key_state::other;
        }
        if (!others && (open || agreed < engine::majority_of(size()))) return;
        for (std::size_t i = 0; i < size(); ++i) {
            auto& m = *members_[i];
            if (!std::exchange(m.key_is_new, false) || !others || !m.up || m.key != key_state::agreed)
                continue;
            m.key = key_state::unasked;
            ours.push_back(i);
        }
    }
    for (const auto i : ours)
        store(i).release({{kind::native, key_}, key_text_, true}, boot_clock::now() + settings.answer_timeout,
                         [](const auto&) {});
}

void members::renew_keys() {
    for (std::size_t i = 0; i < size(); ++i) {
        unsigned epoch = 0;
        {
            base::guard lock(mutex_);
            if (!members_[i]->up || members_[i]->key != key_state::agreed) continue;
            epoch = members_[i]->epoch;
        }
        write_key(i, epoch);
    }
    later(key_lease / 3, &members::renew_keys);
}

bool members::is_present(std::size_t i, unsigned epoch) {
    base::guard lock(mutex_);
    return members_[i]->epoch == epoch;
}

}  // namespace holdfast::redlock_backend
