// How an owner gets a lock: it creates its node, lists the directory, and holds the lock or waits for the
// node before its own.
#include "backends/zookeeper/answers.hpp"
#include "backends/zookeeper/contention_attempting.hpp"
#include "backends/zookeeper/count_data.hpp"
#include "backends/zookeeper/node_data.hpp"
#include "base/text.hpp"
#include "engine/kinds.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace holdfast::zookeeper_backend {

using namespace backend;
using zookeeper::answer;
using zookeeper::code;

namespace {

// The directory exists no more, or not yet: nobody is in it.
bool is_empty_directory(const answer& a) { return a.is(code::no_node); }

}  // namespace

void contention::attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) {
    auto t = std::make_shared<attempting>(attempting{r, deadline, std::move(done)});
    if (!r.downgrading_from.empty()) t->writer = node_of_writer(r.downgrading_from);
    (void)in_turn(r.key, r.owner, newcomers::welcome, [this, t](const shared& c) {
        try {
            begin(c, t);
        } catch (const std::bad_alloc&) {
            if (!t->done) throw;  // it has ended, and its handler threw
            end_by(c, t, {errc::out_of_memory, {}, {}});
        }
    });
}

std::string contention::node_of_writer(const owner_id& writer) {
    base::guard lock(mutex_);
    const auto it = contenders_.find(key_view{role::writer, writer});
    return it == contenders_.end() || it->second->held.empty() ? std::string{} : it->second->name;
}

void contention::begin(const shared& c, const attempt_ptr& t) {
    if (c->session != 0 && c->session != current_session_) c->forget();
    bool waits = false;
    {
        base::guard lock(mutex_);
        // Its nodes may have been deleted, and the server that is asked next may not know that yet.
        const bool doomed = std::exchange(c->doomed, false);
        if (doomed && !c->name.empty()) {
            c->name.clear();
            c->uncertain = true;
        }
        if (doomed && !c->permits.empty()) {
            c->permits.clear();
            c->permits_uncertain = true;
        }
        waits = !doomed && c->watched_on != 0 && c->watched_on == connection_;
    }
    // What it waits for has not changed, or there would have been an event.
    if (waits) return end(c, t, busy{c->holder, {}, {}, {}});
    if (is_semaphore(c->key.of)) return begin_permits(c, t);
    if (!c->name.empty()) return relist(c, t);
    if (c->uncertain) {
        return search(c, t->deadline, [this, c, t](const answer& a) {
            if (c->uncertain) return end_without_answer(c, t, a);
            if (!c->name.empty()) return relist(c, t);
            create(c, t);
        });
    }
    // A newcomer that is likely to be refused does not write.
    if (t->request.want == intent::look && is_contended(t->request.key.name)) return look(c, t);
    create(c, t);
}

void contention::look(const shared& c, const attempt_ptr& t) {
    calls both;
    both.push_back({zookeeper::sync(c->directory), [](const answer&) {}});
    both.push_back(
        {zookeeper::get_children(c->directory, zookeeper::watch::no), [this, c, t](const answer& a) {
             if (is_empty_directory(a)) return create(c, t);
             const auto found = a.ok() ? zookeeper::parse_children(a.body) : std::nullopt;
             if (!found) return end_without_answer(c, t, a);
             if (found->about.data_length != 0 && !t->no_latch)
                 return look_for_latch(c, t, [this, c, t] { look(c, t); });
             const auto where = place_of_newcomer(c->key.of, found->names, paths_.names());
             if (where.is == place::what::holds) {
                 forget_contended(c->key.name);
                 return create(c, t);
             }
             if (where.is != place::what::waits) return refuse_name(c, t, where);
             stand_in_line(c, t, where);
         }});
    session_->submit(std::move(both), t->deadline);
}

// --- the own node -----------------------------------------------------------------------------------------

void contention::create(const shared& c, const attempt_ptr& t) {
    if (t->rounds++ == attempting::most_rounds) return end(c, t, busy{});
    t->repeated = false;
    const bool of_writer = !t->request.downgrading_from.empty();
    if (of_writer && t->writer.empty()) {
        return end(c, t, refused{{errc::lost, "the writer no longer holds the lock", {}}, {}});
    }
    const auto data = to_bytes(own_data(c->key.of));
    auto node = of_writer
                    ? zookeeper::create(c->directory + '/' + name_of_downgraded(c->owner, t->writer), data,
                                        zookeeper::lifetime::ephemeral, access_)
                    : zookeeper::create(c->directory + '/' + prefix_of(c->key.of, c->owner, paths_.names()),
                                        data, zookeeper::lifetime::ephemeral_sequential, access_);
    calls all;
    if (std::exchange(t->parents_missing, false)) {
        // Containers: the servers delete them when nobody has used the lock for a while. A Lock of kazoo
        // makes its directory once, and needs it then.
        const auto life = paths_.names() == naming::kazoo ? zookeeper::lifetime::persistent
                                                          : zookeeper::lifetime::container;
        for (const auto& directory : paths_.ancestors(c->directory))
            all.push_back({zookeeper::create(directory, {}, life, access_), [](const answer&) {}});
    }
    all.push_back({std::move(node), [this, c, t](const answer& a) { on_created(c, t, a); }});
    // Requests of a session are carried out in their order, so the listing has the node.
    if (!is_semaphore(c->key.of)) {
        all.push_back(
            {zookeeper::get_children(c->directory, zookeeper::watch::no), [this, c, t](const answer& a) {
                 if (!c->name.empty()) on_listed(c, t, a);
             }});
    }
    session_->submit(std::move(all), t->deadline);
}

// Ends the attempt, or leaves that to the listing that follows.
void contention::on_created(const shared& c, const attempt_ptr& t, const answer& a) {
    if (a.ok()) {
        const auto made = zookeeper::parse_created(a.body);
        if (!made) {
            c->uncertain = true;
            c->session = a.session;
            return end_without_answer(c, t, a);
        }
        c->name = last_of(made->path);
        c->session = a.session;
        c->czxid = made->about.czxid;
        c->ctime = made->about.ctime;
        c->fence = 0;
        t->wrote = true;
        if (is_semaphore(c->key.of)) read_permits(c, t);
        return;
    }
    if (a.is(code::no_node) && t->parents_made++ < 3) {
        t->parents_missing = true;
        return create(c, t);
    }
    if (a.is(code::no_node)) return end(c, t, refused{no_parent(paths_, c->directory), {}});
    if (a.how == answer::outcome::unknown || a.is(code::connection_loss) || a.is(code::operation_timeout)) {
        c->uncertain = true;
        c->session = a.session;
    }
    end_without_answer(c, t, a);
}

// --- its place ------------------------------------------------------------------------------------------

void contention::relist(const shared& c, const attempt_ptr& t) {
    if (is_semaphore(c->key.of)) return read_permits(c, t);
    if (t->rounds++ == attempting::most_rounds) return end(c, t, busy{c->holder, {}, {}, {}});
    calls list;
    list.push_back({zookeeper::get_children(c->directory, zookeeper::watch::no),
                    [this, c, t](const answer& a) { on_listed(c, t, a); }});
    session_->submit(std::move(list), t->deadline);
}

void contention::on_listed(const shared& c, const attempt_ptr& t, const answer& a) {
    if (is_empty_directory(a)) return decide(c, t, {});
    const auto found = a.ok() ? zookeeper::parse_children(a.body) : std::nullopt;
    if (!found) return end_without_answer(c, t, a);
    if (found->about.data_length != 0 && !t->no_latch)
        return look_for_latch(c, t, [this, c, t] { relist(c, t); });
    decide(c, t, found->names);
}

// Others may have put data there, which mean nothing.
void contention::look_for_latch(const shared& c, const attempt_ptr& t, std::function<void()> otherwise) {
    calls read;
    read.push_back(
        {zookeeper::get_data(c->directory, zookeeper::watch::no),
         [this, c, t, otherwise = std::move(otherwise)](const answer& a) {
             const auto node = a.ok() ? zookeeper::parse_data(a.body) : std::nullopt;
             if (!node && !a.is(code::no_node)) return end_without_answer(c, t, a);
             if (node && parse_count_data(node->data, kind::latch)) {
                 return withdraw(c, t, refused{{errc::wrong_kind, "the name is used by a latch", {}}, {}});
             }
             t->no_latch = true;
             otherwise();
         }});
    session_->submit(std::move(read), t->deadline);
}

void contention::decide(const shared& c, const attempt_ptr& t, std::span<const std::string> children) {
    if (session_->is_too_short()) {
        return withdraw(
            c, t,
            refused{{errc::invalid_argument,
                     "the servers give sessions of " + base::to_text(session_->timeout()) +
                         ", too short for the tick of the URL: give tick=, which is no less than tickTime of "
                         "the servers, or raise their maxSessionTimeout",
                     {}},
                    {}});
    }
    const auto where = place_of(c->name, children, paths_.names());
    const bool of_writer = !t->request.downgrading_from.empty();
    const bool writer_is_gone =
        of_writer && std::find(children.begin(), children.end(), t->writer) == children.end();
    switch (where.is) {
        case place::what::missing:
            // Somebody deleted it, or its session has ended.
            drop(c);
            c->forget();
            return t->repeated ? create(c, t) : end(c, t, busy{});
        case place::what::mismatch:
        case place::what::exhausted: return refuse_name(c, t, where);
        case place::what::waits:
            if (of_writer) break;
            remember_contended(c->key.name);
            return stand_in_line(c, t, where);
        case place::what::holds:
            // Another writer may hold the lock since, whose number is higher: also when this node, of a
            // creation without an answer, was made after the writer's had gone.
            if (writer_is_gone && !holds(c)) break;
            c->followed = where.followed;
            return grant(c, t);
    }
    withdraw(c, t, refused{{errc::lost, "the writer no longer holds the lock", {}}, {}});
}

void contention::refuse_name(const shared& c, const attempt_ptr& t, const place& where) {
    refused no;
    if (where.is == place::what::exhausted) {
        no = {{errc::out_of_memory,
               "the sequence numbers of " + (where.alien.empty() ? c->directory : where.alien) +
                   " are used up: delete the directory when nobody holds the lock, and they start anew",
               {}},
              {}};
    } else {
        no = {{errc::wrong_kind,
               "the name is used by another kind of lock: the node " + c->directory + '/' + where.alien,
               {}},
              {}};
    }
    withdraw(c, t, std::move(no));
}

void contention::stand_in_line(const shared& c, const attempt_ptr& t, const place& where) {
    const bool stays = t->request.want == intent::queue;
    const auto before = c->directory + '/' + where.watch;
    if (stays) {
        // Before the request: its event may come at once.
        base::guard lock(mutex_);
        unwatch(c);
        watched_.emplace(before, c);
        c->watched_on = connection_;
    }
    calls read;
    read.push_back({zookeeper::get_data(before, stays ? zookeeper::watch::yes : zookeeper::watch::no),
                    [this, c, t, where](const answer& a) { on_predecessor(c, t, where, a); }});
    session_->submit(std::move(read), t->deadline);
}

void contention::on_predecessor(const shared& c, const attempt_ptr& t, const place& where, const answer& a) {
    if (!a.ok()) {
        base::guard lock(mutex_);
        unwatch(c);
    }
    const bool gone = a.is(code::no_node);
    if (gone && c->name.empty()) return look(c, t);
    if (gone) return relist(c, t);
    const auto found = a.ok() ? zookeeper::parse_data(a.body) : std::nullopt;
    if (!found) return end_without_answer(c, t, a);
    const auto data = parse_node_data(found->data);
    if (data && engine::rules_of(data->of).belongs_to != engine::rules_of(c->key.of).belongs_to) {
        return withdraw(
            c, t,
            refused{{errc::wrong_kind, "the name is used by a " + std::string{type_name(data->of)}, {}}, {}});
    }
    c->holder = where.holder;
    busy no{where.holder, {}, {}, {}};
    if (t->request.want == intent::look) return withdraw(c, t, std::move(no));
    end(c, t, std::move(no));
}

// Deletes the own nodes, if there are any, and answers.
void contention::withdraw(const shared& c, const attempt_ptr& t, attempt_answer then) {
    drop(c);
    if (c->nodes().empty()) return end(c, t, std::move(then));
    auto left = std::make_shared<attempt_answer>(std::move(then));
    remove_nodes(c, t->deadline, [this, c, t, left](const answer&) { end(c, t, std::move(*left)); });
}

// --- a grant --------------------------------------------------------------------------------------------

// The lock is ours while our session lives. That is proved first, unless it was proved not long ago.
void contention::grant(const shared& c, const attempt_ptr& t) {
    if (writes_fence(*c) && c->fence == 0) return give_fence(c, t);
    const auto enough = boot_clock::now() + session_->timeout() / 2;
    if (bound_.current()->until() > enough) return give(c, t);
    calls proof;
    if (!t->wrote) {
        proof.push_back({zookeeper::check_all(c->nodes()), [this, c, t](const answer& a) {
                             const auto found = a.how == answer::outcome::answered
                                                    ? zookeeper::parse_checks(a.body)
                                                    : std::nullopt;
                             if (!found || found->empty()) return end_without_answer(c, t, a);
                             if (std::count(found->begin(), found->end(), code::ok) !=
                                 static_cast<std::ptrdiff_t>(found->size()))
                                 return relist(c, t);
                             t->wrote = true;
                             grant(c, t);
                         }});
    } else {
        proof.push_back({zookeeper::sync(c->directory), [this, c, t](const answer& a) {
                             if (a.ok()) return give(c, t);
                             end_without_answer(c, t, a);
                         }});
    }
    session_->submit(std::move(proof), t->deadline);
}

void contention::give(const shared& c, const attempt_ptr& t) {
    const auto bound = bound_.current();
    if (bound->until() <= boot_clock::now()) {
        return end(c, t, unknown{{errc::unknown_outcome, "the session was not proved in time", {}}});
    }
    if (!hold(c)) return end(c, t, unknown{{errc::unknown_outcome, "its nodes are being deleted", {}}});
    const auto number = writes_fence(*c) ? c->fence : static_cast<std::uint64_t>(c->czxid);
    granted yes{
        .lease = t->request.lease,
        .fence = engine::rules_of(c->key.of).fenced ? static_cast<fence>(number) : fence::none,
        .repeated = t->repeated,
        .kept_for = session_->timeout(),
        .bound = bound,
    };
    end(c, t, std::move(yes));
}

// --- the end --------------------------------------------------------------------------------------------

void contention::end(const shared& c, const attempt_ptr& t, attempt_answer a) {
    const auto done = std::exchange(t->done, nullptr);
    finished(c);
    done(std::move(a));
}

void contention::end_without_answer(const shared& c, const attempt_ptr& t, const answer& a) {
    end_by(c, t, failure_of(a, c->directory));
}

// A node that is there stays: the attempt is repeated, or undone.
void contention::end_by(const shared& c, const attempt_ptr& t, failure why) {
    {
        // The watches may not have been set.
        base::guard lock(mutex_);
        unwatch(c);
    }
    // Nothing was changed by the last request, but something may have been by the one before.
    if (why.code == errc::unknown_outcome || !c->has_nothing()) return end(c, t, unknown{std::move(why)});
    end(c, t, refused{std::move(why), {}});
}

}  // namespace holdfast::zookeeper_backend
