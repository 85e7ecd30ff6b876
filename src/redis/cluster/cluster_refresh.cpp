// Refreshes the map, and handles servers that connect or are lost. On the reactor thread, except for
// refresh_soon.
#include "redis/cluster/cluster_core.hpp"

#include "base/text.hpp"
#include "redis/protocol/errors.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::redis {

namespace {

// All clients of the cluster ask after a failover: soon enough that callers do not notice, seldom enough that
// the servers do not either.
constexpr std::chrono::milliseconds refresh_gap{50};
constexpr std::chrono::milliseconds longest_gap{1000};
// A healthy server answers in a few milliseconds, so the next one is asked long before this one is given up.
// Both times are shorter than those of the connections.
constexpr std::chrono::milliseconds answer_gap{50};
constexpr std::chrono::milliseconds answer_time{500};

// Why the answer to CLUSTER SLOTS is no map.
fault no_map(const endpoint& asked, const outcome& o) {
    if (const auto* no = std::get_if<not_sent>(&o)) return *no;
    if (const auto* no = std::get_if<no_answer>(&o)) return *no;
    const auto items = std::get<reply>(o).items();
    const auto where = address_text(asked);
    if (items.size() != 2 || !items[1].is_error())
        return {errc::unavailable, where + " knows of no slots: its cluster is not made yet"};
    const auto& text = items[1].text();
    if (text.find("cluster support disabled") != std::string::npos)
        return {errc::invalid_argument,
                where + " is no part of a Redis Cluster; for a single server write redis:// or rediss://"};
    return {classify(text), where + " did not answer CLUSTER SLOTS: " + base::printable(text)};
}

}  // namespace

void cluster_core::refresh_soon() {
    if (closed_) return;
    if (refresh_ == refresh::asking) {
        again_ = true;
        return;
    }
    const auto gap =
        std::min<std::chrono::nanoseconds>(refresh_gap * (1 << std::min(failed_refreshes_, 6U)), longest_gap);
    const auto at = std::max(boot_clock::now(), last_refresh_ + gap);
    if (refresh_ == refresh::scheduled) {
        if (refresh_at_ <= at) return;
        reactor_.cancel(refresh_timer_);
    }
    refresh_ = refresh::scheduled;
    refresh_at_ = at;
    refresh_timer_ = reactor_.at(at, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->begin_refresh();
    });
}

void cluster_core::begin_refresh() {
    unsigned round = 0;
    {
        base::guard hold{mutex_};
        if (closed_ || refresh_ != refresh::scheduled) return;
        refresh_ = refresh::asking;
        again_ = false;
        last_refresh_ = boot_clock::now();
        round = ++round_;
        candidates_.clear();
        next_candidate_ = 0;
        const auto add = [&](const endpoint& e) REQUIRES(mutex_) {
            if (std::none_of(candidates_.begin(), candidates_.end(),
                             [&](const auto& c) { return c.at == e; }))
                candidates_.push_back({e, std::nullopt});
        };
        if (preferred_) add(*preferred_);
        // Not always the same master first.
        const auto& masters = map_.masters();
        for (std::size_t i = 0; i < masters.size(); ++i) {
            const auto& at = masters[(i + round) % masters.size()];
            if (const auto m = members_.find(at); m != members_.end() && m->second.up) add(at);
        }
        for (const auto& at : config_.seeds) {
            if (const auto m = members_.find(at); m == members_.end() || !m->second.lost) add(at);
        }
        for (const auto& at : map_.replicas()) add(at);
        for (const auto& at : masters) add(at);
        for (const auto& at : config_.seeds) add(at);
    }
    ask_next(round);
}

// Asks the next candidate, if there is one.
void cluster_core::ask_next(unsigned round) {
    std::size_t n = 0;
    std::shared_ptr<node> server;
    endpoint at;
    {
        base::guard hold{mutex_};
        if (closed_ || refresh_ != refresh::asking || round != round_) return;
        if (next_candidate_ == candidates_.size()) return;
        n = next_candidate_++;
        at = candidates_[n].at;
        server = member_at(at).server;
    }
    const auto until = boot_clock::now() + answer_time;
    const auto weak = weak_from_this();
    reactor_.at(boot_clock::now() + answer_gap, [weak, n, round] {
        const auto self = weak.lock();
        if (!self) return;
        {
            base::guard hold{self->mutex_};
            if (round != self->round_ || self->next_candidate_ != n + 1)
                return;  // the next one is asked already
        }
        self->ask_next(round);
    });
    reactor_.at(until, [weak, at, n, round] {
        const auto self = weak.lock();
        if (!self) return;
        self->on_no_map(n, round,
                        {errc::unavailable,
                         "no answer from " + address_text(at) + " within " + base::to_text(answer_time)});
    });
    request both{{}, until, [weak, n, round](outcome&& o) {
                     const auto self = weak.lock();
                     if (!self) return;
                     const auto answer = std::make_shared<outcome>(std::move(o));
                     self->reactor_.post([weak, n, round, answer] {
                         if (const auto same = weak.lock()) same->on_map(n, round, std::move(*answer));
                     });
                 }};
    append_command(both.bytes, std::string_view{"PUBSUB"}, std::string_view{"SHARDNUMSUB"},
                   std::string_view{"0"});
    append_command(both.bytes, std::string_view{"CLUSTER"}, std::string_view{"SLOTS"});
    both.replies = 2;
    server->submit(std::move(both));
}

void cluster_core::on_map(std::size_t n, unsigned round, outcome&& o) {
    std::optional<cluster_map> map;
    fault why;
    {
        base::guard hold{mutex_};
        if (closed_ || refresh_ != refresh::asking || round != round_) return;
        const auto& asked = candidates_[n].at;
        if (const auto* r = std::get_if<reply>(&o); r != nullptr && r->items().size() == 2) {
            map = cluster_map::parse(r->items()[1], asked);
            if (map && map->empty()) map.reset();
        }
        if (!map)
            why = no_map(asked, o);
        else if (!std::exchange(sharding_settled_, true))
            how_ = std::get<reply>(o).items()[0].is_error() ? pubsub::plain : pubsub::sharded;
    }
    if (map) return use_map(*std::move(map));
    on_no_map(n, round, std::move(why));
}

void cluster_core::on_no_map(std::size_t n, unsigned round, fault why) {
    bool all = false;
    {
        base::guard hold{mutex_};
        if (closed_ || refresh_ != refresh::asking || round != round_ || candidates_[n].no_map) return;
        // The reason why there is no connection says more than our time-out.
        const auto m = members_.find(candidates_[n].at);
        if (m != members_.end() && m->second.lost && why.code == errc::unavailable) why = m->second.why;
        if (why.code == condition::misuse) misuse_ = not_sent{why};
        candidates_[n].no_map = std::move(why);
        all = std::all_of(candidates_.begin(), candidates_.end(), [](const auto& c) { return c.no_map; });
    }
    if (all) return none_answered();
    ask_next(round);
}

void cluster_core::use_map(cluster_map map) {
    bool settled = false;
    {
        base::guard hold{mutex_};
        map_ = std::move(map);
        owners_.assign(map_.masters().size(), nullptr);
        for (auto it = members_.begin(); it != members_.end();) {
            const auto n = std::find(map_.masters().begin(), map_.masters().end(), it->first);
            if (n == map_.masters().end()) {
                retire(it->second.server);
                it = members_.erase(it);
            } else {
                owners_[static_cast<std::size_t>(n - map_.masters().begin())] = it->second.server;
                ++it;
            }
        }
        preferred_.reset();
        hopeless_.reset();
        misuse_.reset();
        settled = !something_is_missing();
        failed_refreshes_ = settled ? 0 : failed_refreshes_ + 1;
        refresh_ = refresh::idle;
        if (again_ || !settled) refresh_soon();
    }
    let_go(nullptr);
    channels_->place_all();
    if (settled && reported_up_ != true && !last_up_at_.empty() && on_event_) {
        reported_up_ = true;
        on_event_({node_event::what::up, last_up_, std::exchange(restarted_, false), {}, {}, last_up_at_});
    }
}

void cluster_core::none_answered() {
    fault why;
    bool misuse = false;
    bool report = false;
    {
        base::guard hold{mutex_};
        refresh_ = refresh::idle;
        ++failed_refreshes_;
        no_map_ = why_no_map();
        hopeless_ = std::exchange(misuse_, std::nullopt);
        misuse = hopeless_.has_value();
        if (misuse && config_.seeds.size() > 1) hopeless_->text = no_map_;
        why = misuse ? *hopeless_ : fault{errc::unavailable, no_map_};
        report = map_.empty() && std::exchange(reported_up_, false) != false;
        refresh_soon();
    }
    if (misuse) {
        const not_sent no{why};
        let_go(&no);
    }
    if (report && on_event_)
        on_event_({misuse ? node_event::what::refused : node_event::what::down, {}, false, {}, why});
}

// The servers that were asked last, and why each gave no map.
std::string cluster_core::why_no_map() const {
    std::string list;
    for (std::size_t n = 0; n < next_candidate_; ++n) {
        const auto& c = candidates_[n];
        const auto where = address_text(c.at);
        const auto why = c.no_map ? c.no_map->text : "no answer from " + where + " yet";
        list.append(list.empty() ? "" : "; ");
        if (why.find(where) == std::string::npos) list.append(where).append(": ");
        list.append(why);
    }
    return list.empty() ? no_map_ : list;
}

// A lost master may have been replaced.
bool cluster_core::something_is_missing() const {
    return std::any_of(map_.masters().begin(), map_.masters().end(),
                       [&](const endpoint& at) REQUIRES(mutex_) {
                           const auto m = members_.find(at);
                           return m != members_.end() && m->second.lost;
                       });
}

void cluster_core::on_member_event(const endpoint& at, const node_event& e) {
    const bool up = e.kind == node_event::what::up;
    bool report = false;
    std::optional<std::size_t> asked;  // a candidate without an answer
    unsigned round = 0;
    {
        base::guard hold{mutex_};
        const auto m = members_.find(at);
        if (closed_ || m == members_.end()) return;
        m->second.up = up;
        m->second.lost = !up;
        m->second.why = e.why;
        round = round_;
        for (std::size_t n = 0; !up && refresh_ == refresh::asking && n < next_candidate_; ++n)
            if (candidates_[n].at == at) asked = n;
        const auto& masters = map_.masters();
        const bool is_master = std::find(masters.begin(), masters.end(), at) != masters.end();
        report = is_master && (!up || !something_is_missing());
        if (!up && is_master) refresh_soon();
    }
    // Callers that wait for its map need not wait for the time-out.
    if (asked) on_no_map(*asked, round, e.why);
    if (up) {
        last_up_ = e.server;
        last_up_at_ = address_text(at);
        restarted_ = restarted_ || e.restarted;
    }
    if (!report) return;
    reported_up_ = up;
    if (!on_event_) return;
    auto reported = e;
    if (up) {
        reported.restarted = std::exchange(restarted_, false);
        reported.address = last_up_at_;
    }
    on_event_(reported);
}

}  // namespace holdfast::redis
