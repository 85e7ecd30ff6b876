// What may have been left behind on a member, and is taken back.
#include "backends/quorum/council.hpp"
#include "engine/resend.hpp"

#include <utility>

namespace holdfast::quorum_backend {

namespace {

using namespace backend;

// Entries of requests that were lost; each is short-lived, and no promise hangs on them.
constexpr std::size_t most_strays = 1'000;

}  // namespace

// Whoever destroys the client waits for it. Not for a member that is gone: what it has ends by itself.
bool council::begin_errand(std::size_t i) {
    base::guard lock(mutex_);
    if (!members_[i]->up) return false;
    errands_.fetch_add(1, std::memory_order_acq_rel);
    return true;
}

void council::give_back(std::size_t i, const lock_key& key, const owner_id& token, milliseconds lease,
                        bool insist, unsigned attempt) {
    if (closed()) return;
    // What is on its way behind a connection that died comes when it comes.
    const bool errand = attempt == 0 && begin_errand(i);
    store(i).release(
        {key, token, true}, boot_clock::now() + settings.answer_timeout,
        [weak = weak_from_this(), i, key, token, lease, insist, attempt, errand](const release_answer& a) {
            const auto self = weak.lock();
            if (!self) return;
            if (errand) self->errands_.fetch_sub(1, std::memory_order_acq_rel);
            const auto pause = engine::pause_before_undo(attempt + 1, lease);
            const bool sure = std::holds_alternative<released>(a) || std::holds_alternative<not_held>(a);
            if (self->closed() || !pause || (sure && !insist)) return;
            self->reactor.at(boot_clock::now() + *pause, [weak, i, key, token, lease, insist, attempt] {
                if (const auto again = weak.lock())
                    again->give_back(i, key, token, lease, insist, attempt + 1);
            });
        });
}

void council::release_at(std::size_t i, const release_request& r, time_point deadline,
                         handler<release_answer> done) {
    const bool errand = begin_errand(i);
    store(i).release(
        r, deadline,
        [self = shared_from_this(), i, r, errand, done = std::move(done)](const release_answer& said) {
            // What was asked before is over by now, for on one connection all goes in order, but for a script
            // that had to be sent again, and for what a connection that died had on its way: those are
            // strays. Whoever does not answer may carry out later what it was asked before.
            const bool stray = self->take_stray(r.owner, i);
            if (stray || std::holds_alternative<unknown>(said))
                self->give_back(i, r.key, r.owner, self->wanted.longest_lease, true);
            if (errand) self->errands_.fetch_sub(1, std::memory_order_acq_rel);
            done(said);
        });
}

void council::remember_stray(const owner_id& token, std::size_t i) {
    base::guard lock(mutex_);
    if (strays_.size() >= most_strays) strays_.erase(strays_.begin());
    strays_[token.str()].set(i);
}

bool council::take_stray(const owner_id& token, std::size_t i) {
    base::guard lock(mutex_);
    if (strays_.empty()) return false;
    const auto it = strays_.find(token.str());
    if (it == strays_.end() || !it->second.test(i)) return false;
    it->second.reset(i);
    if (it->second.none()) strays_.erase(it);
    return true;
}

}  // namespace holdfast::quorum_backend
