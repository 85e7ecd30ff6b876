#include "backends/zookeeper/semaphore_counts.hpp"

#include "backends/zookeeper/answers.hpp"
#include "backends/zookeeper/count_data.hpp"
#include "base/clock.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::zookeeper_backend {

using namespace backend;
using zookeeper::answer;
using zookeeper::code;

struct semaphore_counts::changing {
    changing(adjust_request r, semaphore_paths where, time_point until, handler<adjust_answer> then)
        : request(std::move(r)), at(std::move(where)), deadline(until), done(std::move(then)) {}

    void fail(failure why) {
        if (why.code == errc::unknown_outcome) return done(unknown{std::move(why)});
        done(refused{std::move(why), {}});
    }

    // Others write meanwhile.
    static constexpr unsigned most_readings = 100;

    const adjust_request request;
    const semaphore_paths at;
    const time_point deadline;
    handler<adjust_answer> done;
    unsigned rounds = 0;
    bool created = false;  // the node of the count
    std::int64_t value = 0;
};

semaphore_counts::semaphore_counts(std::shared_ptr<zookeeper::session> with, const paths& where,
                                   zookeeper::access whom, milliseconds remembers)
    : session_(std::move(with)), paths_(where), access_(whom), remembers_(remembers) {}

void semaphore_counts::adjust(const adjust_request& r, time_point deadline, handler<adjust_answer> done) {
    read(std::make_shared<changing>(r, semaphore_paths{paths_.of(r.key.name)}, deadline, std::move(done)));
}

void semaphore_counts::read(const change& c) {
    if (c->rounds++ == changing::most_readings)
        return c->fail({errc::busy_server, "others write to " + c->at.count, {}});
    read_semaphore(session_, c->at, c->request.key.of, zookeeper::watch::no, c->deadline,
                   [this, c](result<semaphore_seen> found) {
                       if (auto* const why = std::get_if<failure>(&found)) return c->fail(std::move(*why));
                       decide(c, std::get<0>(found));
                   });
}

// The record of the engine counts free permits, the node all of them.
void semaphore_counts::decide(const change& c, const semaphore_seen& s) {
    const auto& r = c->request;
    if (auto why = s.objection(c->at)) {
        // A lock and the count found the name free.
        if (c->created) {
            std::vector<zookeeper::session::call> undo;
            undo.push_back({zookeeper::remove(c->at.count, s.count_version), [](const answer&) {}});
            session_->submit(std::move(undo), c->deadline);
        }
        return c->fail(*std::move(why));
    }
    if (c->created) return c->done(adjusted{c->value});
    const bool of_owner = r.what == adjustment::release || r.what == adjustment::disown;
    const auto names = of_owner ? look_for(r.owner, s.held()).names : std::vector<std::string>{};
    auto before = s.count.value_or(engine::lock_record{});
    const bool sets = r.what == adjustment::set_if_unset && !before.count;
    if (r.what == adjustment::add && !before.count) before.count = {r.key.of, 0};
    auto after = before;
    if (after.count) after.count->value -= s.out();
    if (!names.empty()) {
        after.holders.push_back(
            {r.key.of, r.owner, engine::store_time::max(), static_cast<std::uint32_t>(names.size())});
    }
    const engine::store_time now{std::chrono::microseconds{base::wall_microseconds()}};
    auto answered = engine::apply(after, r, {.now = now, .remembers = remembers_}).answer;
    const auto* const yes = std::get_if<adjusted>(&answered);
    if (yes == nullptr) return c->done(std::move(answered));
    c->value = yes->value;
    // A request that was carried out before changes nothing more.
    const bool frees = !names.empty() && after.holders.empty();
    after.holders.clear();
    if (after.count && !sets) {
        const auto out = s.out() - (frees ? static_cast<std::int64_t>(names.size()) : 0);
        after.count->value += out;
    }
    const bool changes = frees || after.count != (s.count ? s.count->count : std::nullopt);
    if (!changes) return c->done(adjusted{c->value});
    if (!s.count && !frees) return create(c, after);
    if (!s.permits && r.what == adjustment::drain) return make_directory(c);
    std::vector<std::string> freed;
    if (frees)
        for (const auto& name : names) freed.push_back(c->at.permits + '/' + name);
    write(c, s, after, freed);
}

void semaphore_counts::write(const change& c, const semaphore_seen& s, const engine::lock_record& after,
                             const std::vector<std::string>& freed) {
    std::vector<zookeeper::request> steps;
    if (s.count) steps.push_back(zookeeper::set_data(c->at.count, to_count_data(after), s.count_version));
    // What it counted as free is free.
    if (s.permits) steps.push_back(zookeeper::check(c->at.permits, s.permits_version));
    for (const auto& path : freed) steps.push_back(zookeeper::remove(path));
    std::vector<zookeeper::session::call> calls;
    calls.push_back({zookeeper::transaction(steps), [this, c](const answer& a) { on_written(c, a); }});
    session_->submit(std::move(calls), c->deadline);
}

// So that a permit that is taken meanwhile shows.
void semaphore_counts::make_directory(const change& c) {
    std::vector<zookeeper::session::call> calls;
    calls.push_back({zookeeper::create(c->at.permits, {}, zookeeper::lifetime::container, access_),
                     [this, c](const answer& a) {
                         if (a.ok() || a.is(code::node_exists) || a.is(code::no_node)) return read(c);
                         c->fail(failure_of(a, c->at.permits));
                     }});
    session_->submit(std::move(calls), c->deadline);
}

void semaphore_counts::on_written(const change& c, const answer& a) {
    const auto results =
        a.how == answer::outcome::answered ? zookeeper::parse_transaction(a.body) : std::nullopt;
    if (!results) return c->fail(failure_of(a, c->at.count));
    for (const auto& one : *results) {
        if (one.err == code::ok || one.err == code::runtime_inconsistency) continue;
        if (one.err == code::bad_version || one.err == code::no_node) return read(c);
        auto how = a;
        how.err = one.err;
        return c->fail(failure_of(how, c->at.count));
    }
    c->done(adjusted{c->value});
}

void semaphore_counts::create(const change& c, const engine::lock_record& after) {
    std::vector<zookeeper::session::call> calls;
    for (const auto& directory : paths_.ancestors(c->at.directory))
        calls.push_back({zookeeper::create(directory, {}, zookeeper::lifetime::container, access_),
                         [](const answer&) {}});
    calls.push_back(
        {zookeeper::create(c->at.count, to_count_data(after), zookeeper::lifetime::persistent, access_),
         [this, c](const answer& a) {
             // It is read once more: a lock may have been there first.
             c->created = a.ok();
             if (a.ok() || a.is(code::node_exists)) return read(c);
             if (a.is(code::no_node)) return c->fail(no_parent(paths_, c->at.directory));
             c->fail(failure_of(a, c->at.count));
         }});
    session_->submit(std::move(calls), c->deadline);
}

}  // namespace holdfast::zookeeper_backend
