// How an owner gives a lock up: it deletes its node, after a lost answer to its creation as well.
#include "backends/zookeeper/answers.hpp"
#include "backends/zookeeper/contention.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::zookeeper_backend {

using namespace backend;
using zookeeper::answer;
using zookeeper::code;

void contention::release(const release_request& r, time_point deadline, handler<release_answer> done) {
    auto kept = std::make_shared<handler<release_answer>>(std::move(done));
    const bool known = in_turn(r.key, r.owner, newcomers::unknown,
                               [this, kept, deadline](const shared& c) { begin_release(c, kept, deadline); });
    if (!known) (*kept)(not_held{});
}

void contention::begin_release(const shared& c, const std::shared_ptr<handler<release_answer>>& done,
                               time_point deadline) {
    if (c->session != 0 && c->session != current_session_) c->forget();
    if (c->name.empty() && !c->uncertain) {
        finished(c);
        return (*done)(not_held{});
    }
    if (c->name.empty()) {
        return search(c, deadline, [this, c, done, deadline](const answer& a) {
            if (!c->uncertain) return begin_release(c, done, deadline);
            doom(c);
            finished(c);
            (*done)(failed<release_answer>(a, c->directory));
        });
    }
    drop(c);
    const auto path = c->path();
    calls write;
    write.push_back({zookeeper::remove(path), [this, c, done, path](const answer& a) {
                         release_answer result = failed<release_answer>(a, path);
                         if (a.ok()) result = released{.handed_over = c->followed};
                         if (a.is(code::no_node)) result = not_held{};
                         if (a.ok() || a.is(code::no_node))
                             c->forget();
                         else
                             doom(c);
                         finished(c);
                         (*done)(std::move(result));
                     }});
    if (c->followed) remember_contended(c->key.name);
    session_->submit(std::move(write), deadline);
}

// --- a creation without an answer -----------------------------------------------------------------------

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
        return owner_in(name) == c->owner.str() && parse_child(name).is == role_of(c->key.of);
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
                        } else if (about || seen.is(code::no_node)) {
                            c->forget();
                        }
                        done(seen);
                    }});
    session_->submit(std::move(look), deadline);
}

}  // namespace holdfast::zookeeper_backend
