// What levels report: it is passed on with the name of the level, if it matters now.
#include "backends/joint/core.hpp"
#include "base/text.hpp"

#include <algorithm>

namespace holdfast::joint_backend {

known_mode core::known() const {
    known_mode all{.group = wanted.group, .needed = std::vector<bool>(size())};
    const base::guard lock(mutex_);
    all.arbiter_is_up = !arbiter_is_down_;
    if (mode_) {
        all.epoch = mode_->epoch;
        for (const auto i : mode_->needed) all.needed[i] = true;
    }
    if (bound_) all.left = std::max(boot_clock::duration::zero(), bound_->until() - boot_clock::now());
    return all;
}

std::size_t core::first_level() const {
    const base::guard lock(mutex_);
    return mode_ ? mode_->needed.front() : 0;
}

std::string core::place(std::size_t i) const { return base::printable(wanted.levels[i].place); }

std::string core::place_of_arbiter() const { return "the arbiter, " + base::printable(wanted.arbiter.place); }

void core::on_notice(std::size_t i, const notice& n) {
    using change = notice::change;
    if (closed()) return;
    switch (n.what) {
        case change::session_lost: return on_session_lost(i, n);
        case change::evicted: {
            std::vector<hold_ptr> asked;
            {
                const base::guard lock(mutex_);
                for (const auto& h : holds_.all())
                    if (const auto& there = h->parts[i].owner;
                        there == n.owner || there.str().starts_with(n.owner.str() + '*'))
                        asked.push_back(h);
            }
            for (const auto& h : asked) {
                auto own = n;
                own.owner = h->owner;
                own.ended = when_ended(h, early::by_operator);
                given_.notify(own);
            }
            return;
        }
        case change::link_up:
        case change::link_down: return on_link(i, n);
        default: {
            auto own = n;
            own.detail = place(i) + (n.detail.empty() ? "" : ": " + n.detail);
            given_.notify(own);
        }
    }
}

void core::on_link(std::size_t i, const notice& n) {
    std::optional<notice> news;
    {
        const base::guard lock(mutex_);
        levels_[i]->link = n;
        levels_[i]->link->detail = place(i) + (n.detail.empty() ? "" : ": " + n.detail);
        if (!mode_ || std::ranges::find(mode_->needed, i) == mode_->needed.end()) return;
        news = link_of_needed();
        if (!news) return;
        link_told_ = news->what;
    }
    given_.notify(*news);
}

std::optional<notice> core::link_of_needed() const {
    std::optional<notice> all;
    for (const auto i : mode_->needed) {
        const auto& link = levels_[i]->link;
        if (link && link->what == notice::change::link_down) return link;
        if (!link) return std::nullopt;
        all = link;
    }
    return all;
}

std::optional<notice> core::news_of_link() {
    auto now = link_of_needed();
    // A level that has reported nothing has not failed; what is told has.
    if (!now && link_told_ == notice::change::link_down)
        now = notice{.what = notice::change::link_up, .detail = place(mode_->needed.front())};
    if (!now || link_told_ == now->what) return std::nullopt;
    link_told_ = now->what;
    return now;
}

// All that was held there is lost. Where the mode does not need that level nobody minds.
void core::on_session_lost(std::size_t i, const notice& n) {
    bool lost = false;
    {
        const base::guard lock(mutex_);
        levels_[i]->session = nullptr;
        for (const auto& h : holds_.all()) {
            auto& p = h->parts[i];
            if (p.is != part::state::held) continue;
            p = {};
            if (!mode_ || std::ranges::find(mode_->needed, i) == mode_->needed.end()) continue;
            lost = true;
            h->gone = true;
            free_all_parts(h);
            holds_.remove(h);
        }
        if (lost && bound_) bound_->end();
        if (lost) watch_anew();  // its waiters ask under other names now
    }
    if (lost) given_.notify({.what = notice::change::session_lost, .detail = place(i) + ": " + n.detail});
    if (keeper_) keeper_->begin();  // for a new bound
}

}  // namespace holdfast::joint_backend
