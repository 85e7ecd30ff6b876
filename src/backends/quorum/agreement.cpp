// What the clients of a redlock keep on its members.
//
// The mark is a mutex of which all clients with the same members are the owner: which members there are. It
// is written when somebody is about to lock, and not before the members that are there were compared: who
// only looks, or is refused, leaves nothing behind.
//
// On a member that was promoted its clients note since when, so that whoever comes later need not wait as if
// that had been just now (backend::store::age_of_promotion).
#include "backends/quorum/council.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace holdfast::quorum_backend {

namespace {

using namespace backend;

// Long after nobody has used a set of members any more its servers may be used for another.
constexpr milliseconds mark_lease = std::chrono::hours{24};
// Until something is right that somebody must mend, or a server that is loading has loaded.
constexpr milliseconds mark_pause{1'000};

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
owner_id council::agreement_on(const quorum_config& wanted) {
    std::set<std::string> addresses;
    for (const auto& m : wanted.members) addresses.insert(m.address);
    std::string text = std::to_string(addresses.size());
    char separator = ' ';
    for (const auto& a : addresses) text.append(1, std::exchange(separator, ',')).append(a);
    return owner_id{std::move(text)};
}

std::optional<council::difference> council::difference_to(std::string_view written) const {
    if (written == agreement_.str()) return std::nullopt;
    const auto ours = addresses_in(agreement_.str());
    const auto others = addresses_in(written);
    return difference{list_of_missing(ours, others), list_of_missing(others, ours)};
}

std::string council::complaint_about(std::string_view written) const {
    const auto [only_here, only_there] = difference_to(written).value_or(difference{});
    return "is used with other members by other clients, so that two majorities need not meet: only here "
           "there is " +
           only_here + ", only there " + only_there +
           "; write the same addresses everywhere, or give this redlock a name= of its own, or delete the "
           "key " +
           mark_.printable() + " there once nobody uses the old ones";
}

void council::want() {
    if (wanted_.load(std::memory_order_relaxed) || wanted_.exchange(true)) return;
    reactor.post([weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self || self->closed()) return;
        {
            base::guard lock(self->mutex_);
            self->wanted_since_ = boot_clock::now();
        }
        self->later(self->wanted.node_timeout, &council::agree);
        self->later(mark_lease / 3, &council::refresh_marks);
        self->agree();
    });
}

// Two addresses may lead to one server, which is seen when both are connected. So all are waited for, though
// not for long: a majority need not wait for who is dead.
void council::agree() {
    std::vector<std::pair<std::size_t, unsigned>> now_asked;
    {
        base::guard lock(mutex_);
        if (!wanted_since_ || !wrong_.empty()) return;
        engine::member_set usable;
        bool all_known = true;
        for (std::size_t i = 0; i < size(); ++i) {
            const auto& m = *members_[i];
            if (m.up && !m.replica) usable.set(first_of(i));
            all_known = all_known && m.known;
        }
        if (!all_known && boot_clock::now() < *wanted_since_ + wanted.node_timeout) return;
        for (std::size_t i = 0; i < size(); ++i) {
            auto& m = *members_[i];
            if (!m.up || m.mark != mark::unasked) continue;
            // A replica keeps nothing of ours; it is asked so that we hear when it is one no more.
            if (usable.count() < engine::majority_of(size()) && !m.replica) continue;
            m.mark = mark::asked;
            now_asked.emplace_back(i, m.epoch);
        }
    }
    for (const auto& [i, epoch] : now_asked) ask_since(i, epoch);
}

// What a member answers is looked at there, and not on a thread that waits for a lock.
template <class Answer>
handler<Answer> council::on_reactor(std::size_t i, unsigned epoch,
                                    void (council::*then)(std::size_t, unsigned, const Answer&)) {
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

void council::ask_since(std::size_t i, unsigned epoch) {
    std::string promotion;
    {
        base::guard lock(mutex_);
        const auto& m = *members_[i];
        if (m.epoch != epoch) return;
        if (wanted.quarantine && !m.replica) promotion = m.stands.promotion();
    }
    if (promotion.empty()) return ask_for_mark(i, epoch);
    store(i).age_of_promotion(promotion, backend::store::note::left,
                              boot_clock::now() + settings.answer_timeout,
                              on_reactor<result<milliseconds>>(i, epoch, &council::on_since));
}

void council::look_at_promotion(std::size_t i, time_point deadline,
                                handler<std::optional<milliseconds>> done) {
    std::string promotion;
    {
        base::guard lock(mutex_);
        const auto& m = *members_[i];
        if (wanted.quarantine && m.up && !m.replica && !m.stands.counts(boot_clock::now()))
            promotion = m.stands.promotion();
    }
    if (promotion.empty()) return done({});
    store(i).age_of_promotion(promotion, backend::store::note::looked_for, deadline,
                              [done = std::move(done)](const result<milliseconds>& age) {
                                  const auto* const ago = std::get_if<milliseconds>(&age);
                                  done(ago != nullptr ? std::optional{*ago} : std::nullopt);
                              });
}

// If nobody can say, it counts from when we met it.
void council::on_since(std::size_t i, unsigned epoch, const result<milliseconds>& age) {
    if (const auto* const ago = std::get_if<milliseconds>(&age)) {
        base::guard lock(mutex_);
        auto& m = *members_[i];
        if (m.epoch != epoch) return;
        m.stands.began_before(m.stands.run_id(), *ago, boot_clock::now());
    }
    ask_for_mark(i, epoch);
}

// --- which members ----------------------------------------------------------------------------------

void council::ask_for_mark(std::size_t i, unsigned epoch) {
    store(i).attempt({{kind::native, mark_}, agreement_, mark_lease},
                     boot_clock::now() + settings.answer_timeout,
                     on_reactor<attempt_answer>(i, epoch, &council::on_mark));
}

void council::on_mark(std::size_t i, unsigned epoch, const attempt_answer& answer) {
    const auto* ours = std::get_if<granted>(&answer);
    {
        base::guard lock(mutex_);
        auto& m = *members_[i];
        if (m.epoch != epoch) return;
        if (ours != nullptr) {
            m.mark = mark::agreed;
            m.mark_is_new |= !ours->repeated;
            // It takes writes now, and when it was promoted, and without what, it did not say.
            if (std::exchange(m.replica, false)) m.stands.begins_anew(boot_clock::now());
        } else if (const auto* theirs = std::get_if<busy>(&answer)) {
            m.mark = mark::other;
            m.mark_text = theirs->holder;
        } else {
            const auto* no = std::get_if<refused>(&answer);
            const auto why = no != nullptr ? no->why() : std::get<unknown>(answer);
            m.mark = mark::unreadable;
            m.mark_text = why.in_one();
            m.mark_refused = why.code;
        }
        wrong_ = misuse();
    }
    if (ours == nullptr) {
        reactor.at(boot_clock::now() + mark_pause, [weak = weak_from_this(), i, epoch] {
            const auto self = weak.lock();
            if (self && !self->closed() && self->is_present(i, epoch)) self->ask_for_mark(i, epoch);
        });
    }
    take_back_marks();
    agree();
    review();
}

// Where we turn out to be wrong at first sight, we have not been there: what we wrote would keep those out
// who are right. Once all that are there agreed with us, what others write is their mistake.
void council::take_back_marks() {
    std::vector<std::size_t> ours;
    {
        base::guard lock(mutex_);
        std::size_t agreed = 0;
        bool open = false;
        bool others = false;
        for (const auto& m : members_) {
            agreed += m->up && m->mark == mark::agreed ? 1 : 0;
            open |= to_be_asked(*m);
            others |= m->up && m->mark == mark::other;
        }
        if (!others && (open || agreed < engine::majority_of(size()))) return;
        for (std::size_t i = 0; i < size(); ++i) {
            auto& m = *members_[i];
            if (!std::exchange(m.mark_is_new, false) || !others || !m.up || m.mark != mark::agreed) continue;
            m.mark = mark::unasked;
            ours.push_back(i);
        }
    }
    for (const auto i : ours)
        store(i).release({{kind::native, mark_}, agreement_, true},
                         boot_clock::now() + settings.answer_timeout, [](const auto&) {});
}

void council::refresh_marks() {
    for (std::size_t i = 0; i < size(); ++i) {
        unsigned epoch = 0;
        {
            base::guard lock(mutex_);
            if (!members_[i]->up || members_[i]->mark != mark::agreed) continue;
            epoch = members_[i]->epoch;
        }
        ask_for_mark(i, epoch);
    }
    later(mark_lease / 3, &council::refresh_marks);
}

bool council::is_present(std::size_t i, unsigned epoch) {
    base::guard lock(mutex_);
    return members_[i]->epoch == epoch;
}

}  // namespace holdfast::quorum_backend
