#include "backends/joint/watching.hpp"

#include <algorithm>

namespace holdfast::joint_backend {

std::unique_ptr<watch_handle> core::watch(const lock_key& key, const owner_id& owner,
                                          handler<watch_event> on_event) {
    const auto w = std::make_shared<watching>(key, owner, std::move(on_event));
    {
        const base::guard lock(mutex_);
        std::erase_if(watches_, [](const auto& one) { return one.expired(); });
        watches_.push_back(w);
    }
    watch_levels(w);
    return std::make_unique<watch_of_levels>(w);
}

void core::watch_anew() {
    given_.reactor.post([self = shared_from_this()] {
        std::vector<std::shared_ptr<watching>> all;
        {
            const base::guard lock(self->mutex_);
            for (const auto& one : self->watches_)
                if (auto w = one.lock()) all.push_back(std::move(w));
        }
        for (const auto& w : all) {
            self->watch_levels(w);
            const bool is_over = [&] {
                const base::guard lock(w->mutex);
                return w->closed;
            }();
            if (!is_over) w->on_event({watch_event::change::broken, {}});  // ask again, in the other levels
        }
    });
}

void core::watch_under_new_name(const hold_ptr& h) {
    const auto w = [&] {
        const base::guard lock(mutex_);
        return std::static_pointer_cast<watching>(h->watched.lock());
    }();
    if (w) watch_levels(w, told::no_beginning);
}

// Listens in the levels that the mode needs, and in no other.
void core::watch_levels(const std::shared_ptr<watching>& w, told what) {
    if (closed()) return;
    std::vector<std::pair<std::size_t, owner_id>> wanted_now;
    bool polls = true;
    std::uint64_t epoch = 0;
    {
        const base::guard lock(mutex_);
        const auto h = holds_.enter(w->key, w->owner, size());
        h->watched = w;
        if (mode_) epoch = mode_->epoch;
        for (const auto i : mode_ ? mode_->needed : needed_levels{0}) {
            if (level(i).has().ask_every > milliseconds{0}) continue;
            polls = false;
            name_in(*h, i);
            wanted_now.emplace_back(i, h->parts[i].owner);
        }
    }
    std::vector<watching::one> over;
    std::vector<std::pair<std::size_t, owner_id>> missing;
    {
        const base::guard lock(w->mutex);
        if (w->closed || epoch < w->epoch) return;
        w->epoch = epoch;
        for (auto& one : w->in)
            if (std::ranges::find(wanted_now, std::pair{one.level, one.as}) == wanted_now.end())
                over.push_back(std::move(one));
        std::erase_if(w->in, [](const auto& one) { return one.handle == nullptr; });
        for (const auto& one : wanted_now)
            if (std::ranges::none_of(
                    w->in, [&](const auto& has) { return has.level == one.first && has.as == one.second; }))
                missing.push_back(one);
    }
    over.clear();
    for (const auto& [i, as] : missing) {
        const auto begins = std::make_shared<std::atomic<bool>>(what == told::no_beginning);
        auto handle = level(i).watch(w->key, as, [weak = std::weak_ptr{w}, begins](watch_event e) {
            const auto to = weak.lock();
            if (!to || (begins->load() && e.what == watch_event::change::watching)) return;
            e.message.ticket.clear();  // only an attempt grants: the mode may be another one by then
            to->on_event(std::move(e));
        });
        begins->store(false);
        const base::guard lock(w->mutex);
        if (!w->closed) w->in.push_back({i, as, std::move(handle)});
    }
    if (polls && what == told::all) w->on_event({watch_event::change::watching, {}});
}

}  // namespace holdfast::joint_backend
