// How an owner gets permits of a semaphore. It creates their nodes in one transaction, which fails if others
// took permits since it looked, and holds them if no more were created before than there should be. While
// there are too few, or others wait, it waits in the line. Clients of Curator take permits only while they
// are the first there; so does a waiter of ours, but a single attempt does not, as it would fail for no
// better reason than that somebody else is about to take one of many.
#include "backends/zookeeper/answers.hpp"
#include "backends/zookeeper/contention_attempting.hpp"
#include "backends/zookeeper/count_data.hpp"
#include "backends/zookeeper/node_data.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace holdfast::zookeeper_backend {

using namespace backend;
using zookeeper::answer;
using zookeeper::code;

namespace {

// Each is a node, and they are created in one request: the servers take up to a megabyte.
constexpr std::uint32_t most_permits_at_once = 1'000;
constexpr std::size_t largest_transaction = std::size_t{700} << 10U;

std::string holder_in(const semaphore_seen& s) {
    return s.held().empty() ? std::string{} : owner_in(s.held().front());
}

}  // namespace

void contention::begin_permits(const shared& c, const attempt_ptr& t) {
    if (t->request.permits > most_permits_at_once) {
        return end(c, t,
                   refused{{errc::invalid_argument,
                            "in ZooKeeper at most " + std::to_string(most_permits_at_once) +
                                " permits can be acquired at once, because each is a node",
                            {}},
                           {}});
    }
    if (!c->uncertain && !c->permits_uncertain) return read_permits(c, t);
    search_all(c, t->deadline, [this, c, t](const answer& a) {
        if (c->uncertain || c->permits_uncertain) return end_without_answer(c, t, a);
        read_permits(c, t);
    });
}

void contention::read_permits(const shared& c, const attempt_ptr& t) {
    if (t->rounds++ == attempting::most_rounds)
        return end_by(c, t, {errc::busy_server, "others take and release permits all the time", {}});
    const semaphore_paths at{paths_.of(c->key.name)};
    const bool watches = t->request.want == intent::queue;
    if (watches) {
        // Before the request: its events may come at once.
        base::guard lock(mutex_);
        unwatch(c);
        watched_.emplace(at.permits, c);
        watched_.emplace(at.count, c);
        c->watched_on = connection_;
    }
    read_semaphore(session_, at, c->key.of, watches ? zookeeper::watch::yes : zookeeper::watch::no,
                   t->deadline, [this, c, t](result<semaphore_seen> found) {
                       if (auto* const why = std::get_if<failure>(&found))
                           return end_by(c, t, std::move(*why));
                       decide_permits(c, t, std::get<0>(found));
                   });
}

void contention::decide_permits(const shared& c, const attempt_ptr& t, const semaphore_seen& s) {
    if (refuse_permits(c, t, s)) return;
    if (!c->permits.empty()) return judge_permits(c, t, s.held(), s.total().value_or(0));
    if (!s.total() && t->request.total) return set_total(c, t);
    const bool room = s.out() + t->request.permits <= s.total().value_or(0);
    // Otherwise the others in the line go first.
    const bool in_front = t->request.want == intent::look || s.line.empty() ||
                          place_of(c->name, s.line).is == place::what::holds;
    if (room && in_front) return take_permits(c, t, s);
    if (t->request.want == intent::look) return withdraw(c, t, busy{holder_in(s), {}, {}, {}});
    wait_for_permits(c, t, s);
}

bool contention::refuse_permits(const shared& c, const attempt_ptr& t, const semaphore_seen& s) {
    const semaphore_paths at{paths_.of(c->key.name)};
    auto why = s.objection(at);
    if (!why) return false;
    // Both found the name free.
    if (t->set_total) {
        calls undo;
        undo.push_back({zookeeper::remove(at.count, s.count_version), [](const answer&) {}});
        session_->submit(std::move(undo), t->deadline);
    }
    withdraw(c, t, refused{*std::move(why), {}});
    return true;
}

void contention::set_total(const shared& c, const attempt_ptr& t) {
    const semaphore_paths at{paths_.of(c->key.name)};
    engine::lock_record r;
    r.count = {c->key.of, std::clamp(*t->request.total, -engine::largest_count, engine::largest_count)};
    calls all;
    for (const auto& directory : paths_.ancestors(at.directory))
        all.push_back({zookeeper::create(directory, {}, zookeeper::lifetime::container, access_),
                       [](const answer&) {}});
    all.push_back({zookeeper::create(at.count, to_count_data(r), zookeeper::lifetime::persistent, access_),
                   [this, c, t](const answer& a) {
                       t->set_total = t->set_total || a.ok();
                       if (a.ok() || a.is(code::node_exists)) return read_permits(c, t);
                       if (a.is(code::no_node)) return end_by(c, t, no_parent(paths_, c->directory));
                       end_without_answer(c, t, a);
                   }});
    session_->submit(std::move(all), t->deadline);
}

// --- waiting --------------------------------------------------------------------------------------------

// The first of the line waits there for the next permit. An owner that wants more than are free, though some
// are, or more than there are, waits outside and does not keep others out.
void contention::wait_for_permits(const shared& c, const attempt_ptr& t, const semaphore_seen& s) {
    const auto total = s.total().value_or(0);
    const bool too_many = t->request.permits > total;
    const bool some_are_free = s.out() < total;
    c->holder = holder_in(s);
    if (!c->name.empty()) {
        const auto where = place_of(c->name, s.line);
        switch (where.is) {
            case place::what::mismatch:
            case place::what::exhausted: return refuse_name(c, t, where);
            case place::what::waits: return stand_in_line(c, t, where);
            case place::what::holds:
                if (too_many || some_are_free) return leave_line(c, t);
                return end(c, t, busy{c->holder, {}, {}, {}});
            case place::what::missing: c->name.clear(); break;
        }
    }
    if (too_many || (some_are_free && s.line.empty())) return end(c, t, busy{c->holder, {}, {}, {}});
    create(c, t);
}

// The watches stay.
void contention::leave_line(const shared& c, const attempt_ptr& t) {
    calls write;
    write.push_back({zookeeper::remove(c->path()), [this, c, t](const answer& a) {
                         if (!a.ok() && !a.is(code::no_node)) return end_without_answer(c, t, a);
                         c->name.clear();
                         end(c, t, busy{c->holder, {}, {}, {}});
                     }});
    session_->submit(std::move(write), t->deadline);
}

// --- taking ---------------------------------------------------------------------------------------------

void contention::take_permits(const shared& c, const attempt_ptr& t, const semaphore_seen& s) {
    {
        base::guard lock(mutex_);
        unwatch(c);
    }
    if (!s.permits) return make_permits_directory(c, t);
    t->repeated = false;
    const semaphore_paths at{paths_.of(c->key.name)};
    // Their number is as it was read, and no client of ours has taken any since.
    std::vector<zookeeper::request> steps{zookeeper::check(at.count, s.count_version),
                                          zookeeper::set_data(at.permits, {}, s.permits_version)};
    const auto path = at.permits + '/' + prefix_of_permit(c->owner);
    const auto data = to_bytes(own_data(c->key.of));
    for (std::uint32_t i = 0; i < t->request.permits; ++i)
        steps.push_back(zookeeper::create(path, data, zookeeper::lifetime::ephemeral_sequential, access_));
    if (!c->name.empty()) steps.push_back(zookeeper::remove(c->path()));
    auto all = zookeeper::transaction(steps);
    if (all.body.size() > largest_transaction) {
        return withdraw(
            c, t,
            refused{{errc::invalid_argument,
                     "so many permits of a semaphore with so long a name do not fit into a request",
                     {}},
                    {}});
    }
    const auto took = std::make_shared<bool>(false);
    calls both;
    both.push_back({std::move(all), [this, c, t, took](const answer& a) { *took = on_taken(c, t, a); }});
    both.push_back({zookeeper::get_children(at.permits, zookeeper::watch::no),
                    [this, c, t, took, total = *s.total()](const answer& a) {
                        if (!*took) return;
                        const auto found = a.ok() ? zookeeper::parse_children(a.body) : std::nullopt;
                        if (!found) return end_without_answer(c, t, a);
                        judge_permits(c, t, found->names, total);
                    }});
    session_->submit(std::move(both), t->deadline);
}

// False: there are no nodes, or that is not known, and the attempt has ended or goes on.
bool contention::on_taken(const shared& c, const attempt_ptr& t, const answer& a) {
    const auto results =
        a.how == answer::outcome::answered ? zookeeper::parse_transaction(a.body) : std::nullopt;
    if (!results) {
        auto how = a;
        how.body = {};
        const bool refused_whole = a.how == answer::outcome::answered && a.err != code::ok &&
                                   a.err != code::connection_loss && a.err != code::operation_timeout;
        if (a.how != answer::outcome::not_sent && !refused_whole) {
            c->permits_uncertain = true;
            c->session = a.session;
        }
        end_without_answer(c, t, how);
        return false;
    }
    const auto bad = std::find_if(results->begin(), results->end(), [](const zookeeper::step_result& r) {
        return r.err != code::ok && r.err != code::runtime_inconsistency;
    });
    if (bad != results->end()) {
        // Others were quicker, or a directory or the place in the line is gone.
        if (bad->err == code::bad_version || bad->err == code::no_node) {
            read_permits(c, t);
        } else {
            auto how = a;
            how.body = {};
            how.err = bad->err;
            end_without_answer(c, t, how);
        }
        return false;
    }
    c->name.clear();
    for (const auto& one : *results)
        if (!one.path.empty()) c->permits.push_back(one.path);
    c->session = a.session;
    t->wrote = true;
    return true;
}

void contention::judge_permits(const shared& c, const attempt_ptr& t, std::span<const std::string> listed,
                               std::int64_t total) {
    const auto mine = look_for(c->owner, listed);
    const bool all_there = mine.names.size() == c->permits.size();
    if (all_there && !mine.exhausted && (holds(c) || mine.rank <= total)) return grant(c, t);
    if (mine.exhausted) {
        return refuse_name(
            c, t, {.is = place::what::exhausted, .alien = semaphore_paths{paths_.of(c->key.name)}.permits});
    }
    // Somebody deleted some of them; or a client of another library, which looks only after it has created
    // its own, was quicker.
    drop(c);
    remove_nodes(c, t->deadline, [this, c, t](const answer& a) {
        if (!c->has_nothing()) return end_without_answer(c, t, a);
        read_permits(c, t);
    });
}

void contention::make_permits_directory(const shared& c, const attempt_ptr& t) {
    const semaphore_paths at{paths_.of(c->key.name)};
    calls make;
    make.push_back({zookeeper::create(at.permits, {}, zookeeper::lifetime::container, access_),
                    [this, c, t](const answer& a) {
                        if (a.ok() || a.is(code::node_exists) || a.is(code::no_node))
                            return read_permits(c, t);
                        end_without_answer(c, t, a);
                    }});
    session_->submit(std::move(make), t->deadline);
}

// --- a transaction without an answer ----------------------------------------------------------------------

// As contention::search. With the permits, the place in the line is gone.
void contention::search_permits(const shared& c, time_point deadline,
                                std::function<void(const answer&)> done) {
    const semaphore_paths at{paths_.of(c->key.name)};
    calls both;
    both.push_back({zookeeper::sync(at.permits), [](const answer&) {}});
    both.push_back({zookeeper::get_children(at.permits, zookeeper::watch::no),
                    [this, c, deadline, at, done = std::move(done)](const answer& a) {
                        if (a.how == answer::outcome::answered && a.session != c->session) {
                            c->forget();
                            return done(a);
                        }
                        const auto found = a.ok() ? zookeeper::parse_children(a.body) : std::nullopt;
                        if (!found && !a.is(code::no_node)) return done(a);
                        const auto mine =
                            found ? look_for(c->owner, found->names).names : std::vector<std::string>{};
                        if (!mine.empty()) return adopt_permits(c, mine, deadline, done);
                        c->permits_uncertain = false;
                        done(a);
                    }});
    session_->submit(std::move(both), deadline);
}

// Not those of a former session, which are about to vanish.
void contention::adopt_permits(const shared& c, const std::vector<std::string>& names, time_point deadline,
                               const std::function<void(const answer&)>& done) {
    const semaphore_paths at{paths_.of(c->key.name)};
    calls looks;
    for (const auto& name : names) {
        const auto path = at.permits + '/' + name;
        looks.push_back({zookeeper::exists(path, zookeeper::watch::no),
                         [c, path, done, last = &name == &names.back()](const answer& a) {
                             const auto about = a.ok() ? zookeeper::parse_stat(a.body) : std::nullopt;
                             if (about && about->ephemeral_owner == c->session) c->permits.push_back(path);
                             if (!last) return;
                             if (about || a.is(code::no_node)) c->permits_uncertain = false;
                             if (c->permits_uncertain) c->permits.clear();
                             if (!c->permits.empty()) c->name.clear();
                             done(a);
                         }});
    }
    session_->submit(std::move(looks), deadline);
}

}  // namespace holdfast::zookeeper_backend
