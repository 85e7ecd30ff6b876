// How an owner gives a lock up: it deletes its node, after a lost answer to its creation as well.
#include "backends/zookeeper/answers.hpp"
#include "backends/zookeeper/contention.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace holdfast::zookeeper_backend {

using namespace backend;
using zookeeper::answer;
using zookeeper::code;

void contention::release(const release_request& r, time_point deadline, handler<release_answer> done) {
    try {
        auto kept = std::make_shared<handler<release_answer>>(std::move(done));
        const bool known =
            in_turn(r.key, r.owner, newcomers::unknown,
                    [this, kept, deadline](const shared& c) { begin_release(c, kept, deadline); });
        if (!known) (*kept)(not_held{});
    } catch (const std::bad_alloc&) {
        release_later(r.key, r.owner);
        throw;
    }
}

void contention::release_later(const lock_key& key, const owner_id& owner) noexcept {
    base::guard lock(mutex_);
    const auto it = contenders_.find(key_view{role_of(key.of), owner});
    if (it == contenders_.end()) return;
    it->second->doomed = true;
    let_go(*it->second);
}

void contention::end(const shared& c, const releasing& r, release_answer a) {
    const auto done = std::exchange(*r, nullptr);
    finished(c);
    done(std::move(a));
}

void contention::begin_release(const shared& c, const releasing& r, time_point deadline) {
    try {
        carry_out_release(c, r, deadline);
    } catch (const std::bad_alloc&) {
        if (!*r) throw;  // it has ended, and its handler threw
        doom(c);
        end(c, r, unknown{{errc::out_of_memory, {}, {}}});
    }
}

void contention::carry_out_release(const shared& c, const releasing& r, time_point deadline) {
    if (c->session != 0 && c->session != current_session_) c->forget();
    drop(c);
    if (c->has_nothing()) return end(c, r, not_held{});
    if (c->uncertain || c->permits_uncertain) {
        return search_all(c, deadline, [this, c, r, deadline](const answer& a) {
            if (!c->uncertain && !c->permits_uncertain) return begin_release(c, r, deadline);
            doom(c);
            end(c, r, unknown{failure_of(a, c->directory)});
        });
    }
    if (c->followed) remember_contended(c->key.name);
    remove_nodes(c, deadline, [this, c, r, followed = c->followed](const answer& a) {
        if (a.ok()) return end(c, r, released{.handed_over = followed});
        if (a.is(code::no_node)) return end(c, r, not_held{});
        // Even if nothing was sent: the nodes are deleted later, and then a repeated release finds none.
        end(c, r, unknown{failure_of(a, c->directory)});
    });
}

void contention::remove_nodes(const shared& c, time_point deadline,
                              const std::function<void(const answer&)>& done) {
    const auto nodes = c->nodes();
    const auto worst = std::make_shared<std::optional<answer>>();
    const auto rank = [](const answer& a) { return a.ok() ? 0 : a.is(code::no_node) ? 1 : 2; };
    calls write;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        write.push_back(
            {zookeeper::remove(nodes[i]), [=, this, last = i + 1 == nodes.size()](const answer& a) {
                 if (!*worst || rank(a) > rank(**worst)) {
                     *worst = a;
                     (*worst)->body = {};
                 }
                 if (!last) return;
                 if (rank(**worst) < 2)
                     c->forget();
                 else
                     doom(c);
                 done(**worst);
             }});
    }
    session_->submit(std::move(write), deadline);
}

// --- a creation without an answer -----------------------------------------------------------------------

// An owner never waits for two answers at once: it has its place in the line before it asks for permits.
void contention::search_all(const shared& c, time_point deadline, std::function<void(const answer&)> done) {
    if (c->permits_uncertain) return search_permits(c, deadline, std::move(done));
    search(c, deadline, std::move(done));
}

// `sync`, so that the server knows all that the leader had ordered. The leader carries out nothing that the
// former connection sent once the session has moved, so a node that is absent then stays absent.
void contention::search(const shared& c, time_point deadline, std::function<void(const answer&)> done) {
    calls both;
    both.push_back({zookeeper::sync(c->directory), [](const answer&) {}});
    both.push_back({zookeeper::get_children(c->directory, zookeeper::watch::no),
                    [this, c, deadline, done = std::move(done)](const answer& a) {
                        on_searched(c, deadline, a, done);
                    }});
    session_->submit(std::move(both), deadline);
}

void contention::on_searched(const shared& c, time_point deadline, const answer& a,
                             const std::function<void(const answer&)>& done) {
    const bool moved_on = a.how == answer::outcome::answered && a.session != c->session;
    if (moved_on || a.is(code::no_node)) {
        c->forget();
        return done(a);
    }
    const auto found = a.ok() ? zookeeper::parse_children(a.body) : std::nullopt;
    if (!found) return done(a);
    const auto mine = std::find_if(found->names.begin(), found->names.end(), [&](const std::string& name) {
        return owner_in(name) == uuid_of(c->owner.str()) &&
               parse_child(name, paths_.names()).is == role_of(c->key.of);
    });
    if (mine == found->names.end()) {
        c->forget();
        return done(a);
    }
    calls look;
    look.push_back({zookeeper::exists(c->directory + '/' + *mine, zookeeper::watch::no),
                    [c, name = *mine, done](const answer& seen) {
                        const auto about = seen.ok() ? zookeeper::parse_stat(seen.body) : std::nullopt;
                        if (about && about->ephemeral_owner == c->session) {
                            c->uncertain = false;
                            c->name = name;
                            c->czxid = about->czxid;
                            c->ctime = about->ctime;
                            c->fence = 0;
                        } else if (about || seen.is(code::no_node)) {
                            c->forget();
                        }
                        done(seen);
                    }});
    session_->submit(std::move(look), deadline);
}

}  // namespace holdfast::zookeeper_backend
