#include "redis/cluster/cluster_core.hpp"

#include "redis/cluster/slots.hpp"
#include "redis/protocol/errors.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::redis {

namespace {

// A map one step behind needs one; two servers that do not agree yet redirect to each other for a moment.
constexpr std::uint8_t most_redirections = 5;
// By then a former master has answered what is in flight to it; the rest goes elsewhere.
constexpr std::chrono::milliseconds last_answers{100};

not_sent being_closed() { return {{errc::closed, "the connections to the cluster are being closed"}}; }

}  // namespace

cluster_core::cluster_core(cluster_config config, io::reactor& reactor,
                           std::function<void(const node_event&)> on_event)
    : config_(std::move(config)),
      reactor_(reactor),
      on_event_(std::move(on_event)),
      how_(config_.sharded == sharded_channels::off ? pubsub::plain : pubsub::sharded) {
    sharding_settled_ = config_.sharded != sharded_channels::automatic;
    no_map_ = "not connected to the cluster of " + address_text(config_.seeds.front()) + " yet" +
              (config_.each.tls ? "; does it speak TLS?" : "");
}

void cluster_core::start() {
    const auto weak = weak_from_this();
    channels_ = std::make_shared<cluster_channels>(
        reactor_, cluster_channels::callbacks{[weak](std::uint16_t slot) -> std::shared_ptr<node> {
                                                  const auto self = weak.lock();
                                                  if (!self) return nullptr;
                                                  base::guard hold{self->mutex_};
                                                  return self->server_of(slot);
                                              },
                                              [weak](const node& from, const std::string& text) {
                                                  const auto self = weak.lock();
                                                  if (!self) return;
                                                  base::guard hold{self->mutex_};
                                                  for (const auto& [at, m] : self->members_) {
                                                      if (m.server.get() != &from) continue;
                                                      const auto where = parse_redirection(text, at);
                                                      return where ? self->note_moved(*where)
                                                                   : self->refresh_soon();
                                                  }
                                              }});
    base::guard hold{mutex_};
    refresh_soon();
}

// Runs on the reactor thread, which reports all events: none is reported after it returns.
void cluster_core::close() {
    const auto end = [this] {
        std::vector<std::shared_ptr<node>> all;
        {
            base::guard hold{mutex_};
            closed_ = true;
            all.swap(retired_);
            for (auto& [at, m] : members_) all.push_back(std::move(m.server));
            members_.clear();
            owners_.clear();
            map_ = {};
        }
        for (const auto& n : all) n->close();
        const auto why = being_closed();
        let_go(&why);
    };
    reactor_.run_and_wait(end);
}

void cluster_core::abandon() noexcept {
    // If a thread of the parent held the mutex, the sockets stay open here until the child ends.
    if (!mutex_.try_lock()) return;
    for (const auto& [at, m] : members_) m.server->abandon();
    for (const auto& n : retired_) n->abandon();
    mutex_.unlock();
}

// --- servers ----------------------------------------------------------------------------------------

cluster_core::member& cluster_core::member_at(const endpoint& at) {
    if (const auto known = members_.find(at); known != members_.end()) return known->second;
    auto server = std::make_shared<node>(
        node_config_of(config_, at), reactor_,
        [weak = weak_from_this(), at](const node_event& e) {
            if (const auto self = weak.lock()) self->on_member_event(at, e);
        },
        [weak = weak_from_this(), at](request& r, outcome& o) {
            const auto self = weak.lock();
            return self && self->redirect(at, r, o);
        });
    // Inserted only now: a member without a server would be used.
    auto& m = members_[at];
    m.server = std::move(server);
    return m;
}

std::shared_ptr<node> cluster_core::server_of(std::uint16_t slot) {
    if (closed_) return nullptr;
    const auto n = map_.owner(slot);
    if (!n) return nullptr;
    auto& owner = owners_[*n];
    if (!owner) owner = member_at(map_.masters()[*n]).server;
    return owner;
}

std::string cluster_core::address_of(std::uint16_t slot) const {
    base::guard hold{mutex_};
    const auto n = map_.owner(slot);
    return n ? address_text(map_.masters()[*n]) : std::string{};
}

std::vector<std::string> cluster_core::masters() const {
    base::guard hold{mutex_};
    std::vector<std::string> all;
    for (const auto& at : map_.masters()) all.push_back(address_text(at));
    return all;
}

std::shared_ptr<node> cluster_core::last_used_here() const {
    base::guard hold{mutex_};
    for (const auto& n : owners_)
        if (n && n->sent_on_last()) return n;
    return nullptr;
}

// The timer must not own the node: it never runs if the reactor ends first.
void cluster_core::retire(const std::shared_ptr<node>& n) {
    sent_by_retired_ += n->commands_sent();
    retired_.push_back(n);
    reactor_.at(boot_clock::now() + last_answers,
                [weak = weak_from_this(), weak_node = std::weak_ptr<node>(n)] {
                    const auto self = weak.lock();
                    const auto server = weak_node.lock();
                    if (!self || !server) return;
                    server->close();
                    base::guard hold{self->mutex_};
                    std::erase(self->retired_, server);
                });
}

std::uint64_t cluster_core::commands_sent() const {
    base::guard hold{mutex_};
    auto sum = sent_by_retired_;
    for (const auto& [at, m] : members_) sum += m.server->commands_sent();
    return sum;
}

// The longest: nodes that have sent nothing yet report zero.
std::chrono::nanoseconds cluster_core::smoothed_rtt() const {
    base::guard hold{mutex_};
    std::chrono::nanoseconds longest{0};
    for (const auto& [at, m] : members_) longest = std::max(longest, m.server->smoothed_rtt());
    return longest;
}

std::unique_ptr<subscription> cluster_core::subscribe(std::string channel, sub_handler handler, pubsub how) {
    const auto slot = slot_of(channel);
    return channels_->join(std::move(channel), slot, how, std::move(handler));
}

// --- commands ---------------------------------------------------------------------------------------

void cluster_core::submit_one(request r) {
    std::shared_ptr<node> to;
    {
        base::guard hold{mutex_};
        to = server_of(r.slot);
    }
    if (to) return to->submit(std::move(r));
    const auto until = r.deadline;
    wait_for_map(until, [this, r = std::move(r)](const not_sent* no) mutable {
        if (no == nullptr) return submit_one(std::move(r));
        r.done(*no);
    });
}

void cluster_core::submit(std::vector<request> all) {
    std::map<std::shared_ptr<node>, std::vector<request>> of;
    {
        base::guard hold{mutex_};
        for (auto& r : all) of[server_of(r.slot)].push_back(std::move(r));
    }
    // A thread can run the I/O of only one of several nodes.
    std::optional<will_not_run_io> here;
    if (of.size() > 1) here.emplace();
    for (auto& [server, requests] : of) {
        if (server) {
            server->submit(std::move(requests));
        } else {
            for (auto& r : requests) submit_one(std::move(r));
        }
    }
}

void cluster_core::submit_at(const std::string& server, request r) {
    std::shared_ptr<node> to;
    {
        base::guard hold{mutex_};
        for (std::size_t i = 0; i < map_.masters().size() && !closed_; ++i)
            if (address_text(map_.masters()[i]) == server) to = member_at(map_.masters()[i]).server;
    }
    if (!to) return r.done(not_sent{{errc::unavailable, server + " is no master of the cluster any more"}});
    r.redirections = most_redirections;  // for this server only
    to->submit(std::move(r));
}

bool cluster_core::redirect(const endpoint& from, request& r, outcome& o) {
    const bool no_more = r.redirections >= most_redirections || r.deadline <= boot_clock::now();
    if (auto* const no = std::get_if<no_answer>(&o)) {
        // The connections to a former master were closed, not the cluster.
        base::guard hold{mutex_};
        if (!closed_) no->code = errc::unknown_outcome;
        return false;
    }
    if (auto* const no = std::get_if<not_sent>(&o)) {
        base::guard hold{mutex_};
        if (closed_) return false;
        no->code = errc::unavailable;
        if (no_more) return false;
    } else {
        const auto& text = std::get<reply>(o).text();
        const auto where = parse_redirection(text, from);
        base::guard hold{mutex_};
        if (!where) {
            if (error_word(text) == "CLUSTERDOWN") refresh_soon();
            return false;
        }
        if (where->kind == redirection::what::moved) note_moved(*where);
        if (no_more || closed_) {
            o = not_sent{{errc::busy_server, "the slot is on its way between servers; at last " +
                                                 address_text(from) + " said " + text}};
            return false;
        }
        if (where->kind == redirection::what::ask) {
            hold.unlock();
            ++r.redirections;
            ask_there(where->to, std::move(r));
            return true;
        }
    }
    ++r.redirections;
    submit_one(std::move(r));
    return true;
}

// A server that is about to get the slot serves only commands that directly follow an ASKING.
void cluster_core::ask_there(const endpoint& to, request r) {
    request both{{}, r.deadline, {}};
    append_command(both.bytes, std::string_view{"ASKING"});
    // The script is sent whole: a second try would no longer directly follow the ASKING.
    both.bytes += r.script.empty() ? r.bytes : as_eval(r.bytes, r.script);
    both.replies = 1 + r.replies;
    both.waits = r.waits;
    both.slot = r.slot;
    both.redirections = most_redirections;  // its request may be redirected again, the pair may not
    both.done = [self = shared_from_this(), to, r = std::move(r)](outcome&& o) mutable {
        if (auto* const all = std::get_if<reply>(&o);
            all != nullptr && all->items().size() == 1 + r.replies) {
            auto parts = std::move(*all).take_items();
            parts.erase(parts.begin());
            const bool one = parts.size() == 1 || parts.front().is_error();
            outcome its = one ? std::move(parts.front()) : reply::of(std::move(parts));
            if (std::get<reply>(its).is_error() && self->redirect(to, r, its)) return;
            return r.done(std::move(its));
        }
        r.done(std::move(o));
    };
    std::shared_ptr<node> there;
    {
        base::guard hold{mutex_};
        if (!closed_) there = member_at(to).server;
    }
    if (!there) return both.done(being_closed());
    there->submit(std::move(both));
}

void cluster_core::note_moved(const redirection& where) {
    if (closed_) return;
    const auto known = map_.owner(where.slot);
    if (known && map_.masters()[*known] == where.to) return;
    map_.move(where.slot, where.to);
    owners_.resize(map_.masters().size());
    preferred_ = where.to;
    failed_refreshes_ = 0;
    refresh_soon();
}

// --- commands that wait for the map -----------------------------------------------------------------

void cluster_core::when_known(time_point until, go_on go) {
    {
        base::guard hold{mutex_};
        if (map_.empty() || closed_) {
            hold.unlock();
            return wait_for_map(until, std::move(go));
        }
    }
    go(nullptr);
}

void cluster_core::wait_for_map(time_point until, go_on go) {
    base::guard hold{mutex_};
    std::optional<not_sent> why;
    if (closed_)
        why = being_closed();
    else if (hopeless_)
        why = hopeless_;
    else if (until <= boot_clock::now())
        why = why_unknown();
    if (why) {
        hold.unlock();
        return go(&*why);
    }
    waiting_.push_back({until, std::move(go)});
    refresh_soon();
    hold.unlock();
    reactor_.at(until, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->expire();
    });
}

void cluster_core::expire() {
    std::vector<waiting> late;
    not_sent why;
    {
        base::guard hold{mutex_};
        const auto now = boot_clock::now();
        const auto in_time = std::stable_partition(waiting_.begin(), waiting_.end(),
                                                   [now](const waiting& w) { return w.until > now; });
        late.assign(std::make_move_iterator(in_time), std::make_move_iterator(waiting_.end()));
        waiting_.erase(in_time, waiting_.end());
        why = why_unknown();
    }
    for (const auto& w : late) w.go(&why);
}

void cluster_core::let_go(const not_sent* why) {
    std::vector<waiting> all;
    {
        base::guard hold{mutex_};
        all.swap(waiting_);
    }
    for (const auto& w : all) w.go(why);
}

not_sent cluster_core::why_unknown() const {
    // A round under way still lacks answers; the last complete round explains more.
    if (map_.empty()) return {{errc::unavailable, failed_refreshes_ > 0 ? no_map_ : why_no_map()}};
    return {{errc::unavailable,
             "no server of the cluster of " + address_text(config_.seeds.front()) + " serves this slot now"}};
}

}  // namespace holdfast::redis
