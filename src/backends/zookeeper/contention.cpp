#include "backends/zookeeper/contention.hpp"

#include "backends/zookeeper/answers.hpp"
#include "backends/zookeeper/contention_attempting.hpp"
#include "backends/zookeeper/node_checks.hpp"
#include "backends/zookeeper/node_data.hpp"

#include <algorithm>

namespace holdfast::zookeeper_backend {

using namespace backend;
using zookeeper::answer;
using zookeeper::code;

contention::contention(std::shared_ptr<zookeeper::session> with, const paths& p, zookeeper::access whom,
                       fence_source fences, session_bound& bound, std::function<void(const notice&)> notify)
    : session_(std::move(with)),
      paths_(p),
      access_(whom),
      fences_(fences),
      bound_(bound),
      notify_(std::move(notify)) {}

// --- one request after another --------------------------------------------------------------------------

bool contention::in_turn(const lock_key& key, const owner_id& owner, newcomers others,
                         contender::request run) {
    shared c;
    {
        base::guard lock(mutex_);
        const auto it = contenders_.find(key_view{role_of(key.of), owner});
        if (it != contenders_.end())
            c = it->second;
        else if (others == newcomers::welcome)
            c = contenders_
                    .emplace(contender_key{role_of(key.of), owner},
                             std::make_shared<contender>(key, owner, directory_of(paths_, key)))
                    .first->second;
        else
            return false;
        if (c->busy) {
            c->next.push_back(std::move(run));
            return true;
        }
        c->busy = true;
    }
    run(c);
    return true;
}

void contention::finished(const shared& c) {
    contender::request run;
    {
        base::guard lock(mutex_);
        if (c->next.empty()) {
            c->busy = false;
            // Without a node there is nothing to remember; a node of a former session is gone.
            const bool of_another_session = c->session != 0 && c->session != current_session_;
            if ((c->has_nothing() && c->watched_on == 0) || of_another_session) forget(*c);
            return;
        }
        run = std::move(c->next.front());
        c->next.pop_front();
    }
    run(c);
}

void contention::forget(const contender& c) {
    const auto it = contenders_.find(key_view{role_of(c.key.of), c.owner});
    if (it != contenders_.end()) contenders_.erase(it);
}

// --- holding ---------------------------------------------------------------------------------------------

bool contention::hold(const shared& c) {
    base::guard lock(mutex_);
    if (c->doomed) return false;
    if (c->held.empty()) c->data_version = 0;
    c->held = c->nodes();
    for (const auto& path : c->held) held_.emplace(path, c);
    return true;
}

void contention::let_go(contender& c) {
    for (const auto& path : c.held) {
        held_.erase(path);
        watched_held_.erase(path);
    }
    c.held.clear();
}

// Before its nodes are deleted, so that nobody takes that for a loss.
void contention::drop(const shared& c) {
    base::guard lock(mutex_);
    let_go(*c);
    unwatch(c);
}

void contention::unwatch(const shared& c) {
    if (std::exchange(c->watched_on, 0) != 0)
        std::erase_if(watched_, [&](const auto& w) { return w.second == c; });
}

// Somebody else deleted a node of a holder.
void contention::lost(const std::string& path) {
    shared c;
    {
        base::guard lock(mutex_);
        watched_held_.erase(path);
        const auto it = held_.find(path);
        if (it == held_.end()) return;
        c = it->second;
        c->doomed = c->held.size() > 1;  // the other permits of the lease
        let_go(*c);
        if (!c->busy && !c->doomed) forget(*c);
    }
    notify_({.what = notice::change::evicted, .owner = c->owner});
}

// For operators. A request to release the lock that somebody wrote into the node stays: the version is
// another one.
zookeeper::session::call contention::show_holds(contender& c, std::uint32_t holds) {
    auto data = own_data(c.key.of);
    data.holds = holds;
    return {zookeeper::set_data(c.held.front(), to_bytes(data), c.data_version++), [](const answer&) {}};
}

void contention::renew(std::span<const renew_request> all, time_point deadline,
                       handler<std::vector<renew_answer>> done) {
    struct renewal {
        std::vector<renew_answer> answers;
        std::vector<std::size_t> asked;  // for each node: which of them it belongs to
        std::vector<milliseconds> leases;
        handler<std::vector<renew_answer>> done;
    };
    const auto r = std::make_shared<renewal>();
    r->done = std::move(done);
    std::vector<std::string> nodes;
    calls shown;
    {
        base::guard lock(mutex_);
        for (std::size_t i = 0; i < all.size(); ++i) {
            r->answers.emplace_back(not_held{});
            r->leases.push_back(all[i].lease);
            const auto it = contenders_.find(key_view{role_of(all[i].key.of), all[i].owner});
            if (it == contenders_.end() || it->second->held.empty()) continue;
            const auto& held = it->second->held;
            r->asked.insert(r->asked.end(), held.size(), i);
            nodes.insert(nodes.end(), held.begin(), held.end());
            if (all[i].holds != 0 && !is_semaphore(all[i].key.of))
                shown.push_back(show_holds(*it->second, all[i].holds));
        }
    }
    if (!shown.empty()) session_->submit(std::move(shown), deadline);
    if (nodes.empty()) return r->done(std::move(r->answers));
    check_nodes(session_, nodes, deadline, [r, path = nodes.front()](const checked& found) {
        for (std::size_t i = 0; i < r->asked.size(); ++i) {
            auto& to = r->answers[r->asked[i]];
            if (!found.how.ok())
                to = failed<renew_answer>(found.how, path);
            else if (i == 0 || r->asked[i] != r->asked[i - 1])
                to = renewed{r->leases[r->asked[i]]};
        }
        for (std::size_t i = 0; i < found.exist.size(); ++i)
            if (!found.exist[i]) r->answers[r->asked[i]] = not_held{};
        r->done(std::move(r->answers));
    });
}

void contention::prove(time_point deadline, callback<void()> done) {
    delete_doomed();
    std::vector<std::string> nodes;
    {
        base::guard lock(mutex_);
        for (const auto& [path, c] : held_) nodes.push_back(path);
        if (nodes.empty() && contenders_.empty()) return;
    }
    if (nodes.empty()) nodes.push_back(paths_.chroot().empty() ? "/" : paths_.chroot());
    auto then = std::make_shared<callback<void()>>(std::move(done));
    auto asked = nodes;
    check_nodes(session_, std::move(nodes), deadline,
                [this, asked = std::move(asked), then, deadline](const checked& found) {
                    if (!found.how.ok()) return (*then)();
                    for (std::size_t i = 0; i < asked.size(); ++i)
                        if (!found.exist[i]) lost(asked[i]);
                    calls sync;
                    sync.push_back({zookeeper::sync(paths_.base()), [then](const answer&) { (*then)(); }});
                    session_->submit(std::move(sync), deadline);
                });
}

// --- messages --------------------------------------------------------------------------------------------

std::unique_ptr<watch_handle> contention::watch(const lock_key& key, const owner_id& owner,
                                                handler<watch_event> on_event) {
    const auto to = std::make_shared<handler<watch_event>>(std::move(on_event));
    auto handle = backends::waiter_registry::add(waiters_, key, owner, to);
    (*to)({watch_event::change::watching, {}});
    return handle;
}

void contention::on_event(const zookeeper::event& e) {
    using what = zookeeper::event::what;
    std::vector<shared> woken;
    bool of_holder = false;
    {
        base::guard lock(mutex_);
        const auto [first, last] = watched_.equal_range(e.path);
        for (auto it = first; it != last; ++it) woken.push_back(it->second);
        for (const auto& c : woken) unwatch(c);
        of_holder = watched_held_.erase(e.path) != 0;
    }
    for (const auto& c : woken)
        if (const auto waiter = waiters_->find(c->key.of, c->owner))
            (*waiter)({watch_event::change::woken, {}});
    if (!of_holder) return;
    if (e.type == what::deleted)
        lost(e.path);
    else
        look_for_revocation(e.path);
}

void contention::on_attached(std::int64_t session) {
    std::set<std::string> watched;
    {
        base::guard lock(mutex_);
        ++connection_;
        watched_.clear();
        watched.swap(watched_held_);
    }
    current_session_ = session;
    for (const auto& path : watched) watch_held_node(path);
    delete_doomed();
    for (const auto& waiter : waiters_->all()) (*waiter)({watch_event::change::broken, {}});
}

void contention::doom(const shared& c) {
    base::guard lock(mutex_);
    c->doomed = true;
}

bool contention::holds(const shared& c) {
    base::guard lock(mutex_);
    return !c->held.empty();
}

void contention::delete_doomed() {
    std::vector<shared> all;
    {
        base::guard lock(mutex_);
        // An attempt under way that nobody wants ends without a grant, see hold().
        for (const auto& [key, c] : contenders_)
            if (!c->busy && std::exchange(c->doomed, false)) all.push_back(c);
    }
    const auto until = boot_clock::now() + session_->timeout();
    for (const auto& c : all) {
        (void)in_turn(c->key, c->owner, newcomers::unknown, [this, until](const shared& again) {
            // The owner has asked once more meanwhile, and was granted the lock.
            if (holds(again)) return finished(again);
            begin_release(again, std::make_shared<handler<release_answer>>([](const release_answer&) {}),
                          until);
        });
    }
}

void contention::on_expired() {
    current_session_ = 0;
    {
        base::guard lock(mutex_);
        held_.clear();
        watched_.clear();
        watched_held_.clear();
        for (const auto& [key, c] : contenders_) {
            c->doomed = false;
            c->watched_on = 0;
            c->held.clear();
        }
        // Their nodes are gone. Those that are busy end in finished().
        std::erase_if(contenders_, [](const auto& entry) { return !entry.second->busy; });
    }
    // Waiters learn of it when the next session is attached.
}

// --- requests of operators ---------------------------------------------------------------------------------

void contention::watch_held(const lock_name& name) {
    const auto directory = paths_.of(name) + '/';
    std::vector<std::string> nodes;
    {
        base::guard lock(mutex_);
        for (auto it = held_.lower_bound(directory); it != held_.end() && it->first.starts_with(directory);
             ++it)
            if (!watched_held_.contains(it->first)) nodes.push_back(it->first);
    }
    for (const auto& path : nodes) watch_held_node(path);
}

void contention::watch_held_node(const std::string& path) {
    {
        base::guard lock(mutex_);
        if (!held_.contains(path) || !watched_held_.insert(path).second) return;
    }
    look_for_revocation(path);
}

void contention::look_for_revocation(const std::string& path) {
    {
        base::guard lock(mutex_);
        if (!held_.contains(path)) return;
        watched_held_.insert(path);
    }
    calls read;
    read.push_back({zookeeper::get_data(path, zookeeper::watch::yes), [this, path](const answer& a) {
                        if (a.is(code::no_node)) return lost(path);
                        const auto found = a.ok() ? zookeeper::parse_data(a.body) : std::nullopt;
                        if (!found || !found->data.starts_with(please_release)) return;
                        shared c;
                        {
                            base::guard lock(mutex_);
                            const auto it = held_.find(path);
                            if (it == held_.end()) return;
                            c = it->second;
                        }
                        confirm_to(path, found->data, c->owner);
                    }});
    session_->submit(std::move(read), boot_clock::now() + session_->timeout());
}

// An operator's holdfast adds to its request the path of a node that is deleted to confirm it. Whoever may
// write to the holder's node must not choose any other node.
void contention::confirm_to(const std::string& path, const std::string& request, const owner_id& owner) {
    const auto confirm_at = request.substr(please_release.size());
    std::function<void()> confirm = [this, confirm_at] {
        if (!confirm_at.starts_with(' ' + paths_.evictions() + '/')) return;
        calls write;
        write.push_back({zookeeper::remove(confirm_at.substr(1)), [](const answer&) {}});
        session_->submit(std::move(write), boot_clock::now() + session_->timeout());
    };
    (void)path;
    notify_({.what = notice::change::evicted, .owner = owner, .confirm = std::move(confirm)});
}

// --- names that others want, too ------------------------------------------------------------------------

bool contention::is_contended(const lock_name& name) {
    base::guard lock(mutex_);
    return contended_.contains(name);
}

void contention::remember_contended(const lock_name& name) {
    constexpr std::size_t most = 1'000;
    base::guard lock(mutex_);
    if (contended_.size() >= most) contended_.clear();
    contended_.insert(name);
}

void contention::forget_contended(const lock_name& name) {
    base::guard lock(mutex_);
    contended_.erase(name);
}

}  // namespace holdfast::zookeeper_backend
