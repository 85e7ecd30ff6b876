#include "backends/zookeeper/latches.hpp"

#include "backends/zookeeper/answers.hpp"
#include "backends/zookeeper/count_data.hpp"
#include "base/clock.hpp"
#include "engine/lock_record.hpp"

#include <utility>

namespace holdfast::zookeeper_backend {

using namespace backend;
using zookeeper::answer;
using zookeeper::code;

namespace {

constexpr unsigned most_readings = 100;  // others write meanwhile

// Only repeated adjustments are forgotten by it, after minutes.
engine::store_time wall_time() {
    return engine::store_time{std::chrono::microseconds{base::wall_microseconds()}};
}

}  // namespace

struct latches::changing {
    changing(lock_name n, std::string at, time_point until)
        : name(std::move(n)), path(std::move(at)), deadline(until) {}

    const lock_name name;
    const std::string path;
    const time_point deadline;
    bool watches = false;
    // Changes the record, and keeps the answer.
    std::function<void(engine::lock_record&)> apply;
    std::function<void()> succeed;
    std::function<void(const failure&)> fail;
    unsigned rounds = 0;
};

latches::latches(std::shared_ptr<zookeeper::session> with, const paths& where, zookeeper::access whom,
                 milliseconds remembers)
    : session_(std::move(with)), paths_(where), access_(whom), remembers_(remembers) {}

void latches::attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) {
    const auto to = std::make_shared<handler<attempt_answer>>(std::move(done));
    const auto found = std::make_shared<attempt_answer>(busy{});
    const auto c = std::make_shared<changing>(r.key.name, paths_.of(r.key.name), deadline);
    c->watches = r.want == intent::queue;
    c->apply = [r, found](engine::lock_record& record) {
        *found = engine::apply(record, r, {.now = wall_time()}).answer;
    };
    c->succeed = [to, found] { (*to)(std::move(*found)); };
    c->fail = [to](const failure& why) {
        if (why.code == errc::unknown_outcome) return (*to)(unknown{why});
        (*to)(refused{why, {}});
    };
    read(c);
}

void latches::adjust(const adjust_request& r, time_point deadline, handler<adjust_answer> done) {
    const auto to = std::make_shared<handler<adjust_answer>>(std::move(done));
    const auto found = std::make_shared<adjust_answer>(adjusted{});
    const auto c = std::make_shared<changing>(r.key.name, paths_.of(r.key.name), deadline);
    c->apply = [this, r, found](engine::lock_record& record) {
        *found = engine::apply(record, r, {.now = wall_time(), .remembers = remembers_}).answer;
    };
    c->succeed = [to, found] { (*to)(std::move(*found)); };
    c->fail = [to](const failure& why) {
        if (why.code == errc::unknown_outcome) return (*to)(unknown{why});
        (*to)(refused{why, {}});
    };
    read(c);
}

std::unique_ptr<watch_handle> latches::watch(const lock_key& key, const owner_id& owner,
                                             handler<watch_event> on_event) {
    const auto to = std::make_shared<handler<watch_event>>(std::move(on_event));
    auto handle = backends::waiter_registry::add(waiters_, key, owner, to);
    (*to)({watch_event::change::watching, {}});
    return handle;
}

void latches::on_attached() {
    {
        base::guard lock(mutex_);
        watched_.clear();
    }
    for (const auto& waiter : waiters_->all()) (*waiter)({watch_event::change::broken, {}});
}

void latches::on_event(const zookeeper::event& e) {
    std::vector<backends::waiter_registry::receiver> woken;
    {
        base::guard lock(mutex_);
        const auto it = watched_.find(e.path);
        if (it == watched_.end()) return;
        woken = waiters_->all_of(it->second, owner_id{});
        watched_.erase(it);
    }
    for (const auto& waiter : woken) (*waiter)({watch_event::change::woken, {}});
}

// --- read, change, write ----------------------------------------------------------------------------------

void latches::read(const change& c) {
    if (c->rounds++ == most_readings) return c->fail({errc::busy_server, "others write to " + c->path, {}});
    if (c->watches) {
        // Before the request: its event may come at once.
        base::guard lock(mutex_);
        watched_.emplace(c->path, c->name);
    }
    std::vector<zookeeper::session::call> both;
    both.push_back({zookeeper::sync(c->path), [](const answer&) {}});
    both.push_back({zookeeper::get_data(c->path, c->watches ? zookeeper::watch::yes : zookeeper::watch::no),
                    [this, c](const answer& a) { on_read(c, a); }});
    session_->submit(std::move(both), c->deadline);
}

void latches::on_read(const change& c, const answer& a) {
    engine::lock_record before;
    std::optional<std::int32_t> version;
    if (a.ok()) {
        const auto node = zookeeper::parse_data(a.body);
        if (!node) return c->fail(failure_of(a, c->path));
        const bool was_directory = node->about.data_length == 0 && node->about.num_children == 0;
        auto found = was_directory               ? std::optional{engine::lock_record{}}
                     : may_be_latch(node->about) ? parse_count_data(node->data, kind::latch)
                                                 : std::nullopt;
        if (!found) {
            return c->fail(
                {errc::wrong_kind, "the name is used by another kind of lock: the node " + c->path, {}});
        }
        before = std::move(*found);
        if (!was_directory) version = node->about.version;
    } else if (!a.is(code::no_node)) {
        return c->fail(failure_of(a, c->path));
    }
    auto after = before;
    c->apply(after);
    if (after == before) return c->succeed();
    if (after.idle() && version) return write(c, zookeeper::remove(c->path, *version));
    if (version) return write(c, zookeeper::set_data(c->path, to_count_data(after), *version));
    // The servers delete an empty directory of a lock some day, so it cannot become a latch.
    if (a.ok()) return remove_directory(c);
    write(c, zookeeper::create(c->path, to_count_data(after), zookeeper::lifetime::persistent, access_));
}

void latches::write(const change& c, zookeeper::request r) {
    std::vector<zookeeper::session::call> calls;
    if (r.what == zookeeper::op::create) {
        for (const auto& directory : paths_.ancestors(paths_.base())) {
            calls.push_back({zookeeper::create(directory, {}, zookeeper::lifetime::container, access_),
                             [](const answer&) {}});
        }
    }
    calls.push_back({std::move(r), [this, c](const answer& a) {
                         if (a.ok()) return c->succeed();
                         if (a.is(code::bad_version) || a.is(code::no_node) || a.is(code::node_exists) ||
                             a.is(code::not_empty))
                             return read(c);
                         c->fail(failure_of(a, c->path));
                     }});
    session_->submit(std::move(calls), c->deadline);
}

void latches::remove_directory(const change& c) {
    std::vector<zookeeper::session::call> calls;
    calls.push_back({zookeeper::remove(c->path), [this, c](const answer& a) {
                         if (a.ok() || a.is(code::no_node) || a.is(code::not_empty)) return read(c);
                         c->fail(failure_of(a, c->path));
                     }});
    session_->submit(std::move(calls), c->deadline);
}

}  // namespace holdfast::zookeeper_backend
