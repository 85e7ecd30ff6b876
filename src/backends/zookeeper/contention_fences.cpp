// Fences that follow the time: those of a ZooKeeper that a joint store uses beside other stores. The last one
// of a lock is written into a node of its own before its grant counts, so fences grow also when the next
// leader's clock is behind. That node stays when the lock's directory is deleted.
#include "backends/common/fence_clock.hpp"
#include "backends/zookeeper/answers.hpp"
#include "backends/zookeeper/contention_attempting.hpp"
#include "backends/zookeeper/fence_data.hpp"
#include "engine/kinds.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace holdfast::zookeeper_backend {

using namespace backend;
using zookeeper::answer;
using zookeeper::code;

namespace {

// The holder alone writes. Only a write that it repeats meets another version.
constexpr unsigned most_writes = 10;
// The unit of the other stores, whose grants have several fences each.
constexpr std::uint32_t fences_per_grant = 16;

}  // namespace

struct contention::writing_fence {
    shared of;
    time_point deadline;
    std::function<std::uint64_t(std::uint64_t last)> next;
    std::function<void(const answer&)> done;
    std::string path;
    unsigned rounds = 0;
};

bool contention::writes_fence(const contender& c) const {
    return fences_ == fence_source::time && engine::rules_of(c.key.of).fenced;
}

void contention::give_fence(const shared& c, const attempt_ptr& t) {
    auto next = [c](std::uint64_t last) {
        return backends::next_fence(last, fences_per_grant, c->ctime * 1'000);
    };
    auto done = [this, c, t](const answer& a) {
        if (c->fence != 0) {
            t->wrote = true;
            return grant(c, t);
        }
        // Somebody deleted its node, or its session has ended.
        if (a.is(code::no_node)) return relist(c, t);
        auto why = failure_of(a, paths_.of_fence(c->key.name));
        // Others need not wait for what this client may not write.
        if (why.code == condition::misuse) return withdraw(c, t, refused{std::move(why), {}});
        end_without_answer(c, t, a);
    };
    write_fence(std::make_shared<writing_fence>(
        writing_fence{c, t->deadline, std::move(next), std::move(done), paths_.of_fence(c->key.name)}));
}

void contention::raise_fence(const adjust_request& r, time_point deadline, handler<adjust_answer> done) {
    const auto to = std::make_shared<handler<adjust_answer>>(std::move(done));
    // Empty once it is called.
    const auto end = [this, to](const shared& c, adjust_answer a) {
        const auto then = std::exchange(*to, nullptr);
        finished(c);
        then(std::move(a));
    };
    const auto least = static_cast<std::uint64_t>(std::max<std::int64_t>(r.amount, 0));
    const bool known = in_turn(r.key, r.owner, newcomers::unknown, [=, this](const shared& c) {
        try {
            if (!writes_fence(*c) || !holds(c)) return end(c, adjusted{0});
            c->fence = 0;  // a repeated attempt gets a greater one, whatever becomes of this
            auto on_written = [=, this](const answer& a) {
                if (c->fence != 0) return end(c, adjusted{1});
                if (a.is(code::no_node)) return end(c, adjusted{0});
                end(c, failed<adjust_answer>(a, paths_.of_fence(c->key.name)));
            };
            write_fence(std::make_shared<writing_fence>(
                writing_fence{c, deadline, [least](std::uint64_t last) { return std::max(last, least); },
                              std::move(on_written), paths_.of_fence(c->key.name)}));
        } catch (const std::bad_alloc&) {
            if (!*to) throw;  // it has ended, and its handler threw
            end(c, unknown{{errc::out_of_memory, {}, {}}});
        }
    });
    if (!known) (*to)(adjusted{0});
}

void contention::write_fence(const std::shared_ptr<writing_fence>& w) {
    calls read;
    read.push_back({zookeeper::get_data(w->path, zookeeper::watch::no),
                    [this, w](const answer& a) { on_last_fence(w, a); }});
    session_->submit(std::move(read), w->deadline);
}

void contention::on_last_fence(const std::shared_ptr<writing_fence>& w, const answer& a) {
    const auto last = a.ok() ? zookeeper::parse_data(a.body) : std::nullopt;
    const bool is_first = a.is(code::no_node);
    if (!last && !is_first) return w->done(a);
    const auto fence = w->next(last ? parse_fence_data(last->data).value_or(0) : 0);
    const auto text = to_fence_data(fence);
    const std::array steps{zookeeper::check(w->of->path()),
                           is_first
                               ? zookeeper::create(w->path, text, zookeeper::lifetime::persistent, access_)
                               : zookeeper::set_data(w->path, text, last->about.version)};
    auto write = is_first ? makers_of(w->path) : calls{};
    write.push_back({zookeeper::transaction(steps), [this, w, fence, is_first](const answer& written) {
                         on_fence_written(w, fence, is_first, written);
                     }});
    session_->submit(std::move(write), w->deadline);
}

void contention::on_fence_written(const std::shared_ptr<writing_fence>& w, std::uint64_t fence, bool is_first,
                                  const answer& a) {
    const auto results =
        a.how == answer::outcome::answered ? zookeeper::parse_transaction(a.body) : std::nullopt;
    if (!results || results->size() != 2) return w->done(a);
    const auto& own_node = results->front().err;
    const auto& node_of_fence = results->back().err;
    if (own_node == code::ok && node_of_fence == code::ok) {
        w->of->fence = fence;
        return w->done(a);
    }
    const bool has_changed = node_of_fence == (is_first ? code::node_exists : code::bad_version) ||
                             (own_node == code::ok && node_of_fence == code::no_node);
    if (has_changed && w->rounds++ < most_writes) return write_fence(w);
    auto why = a;
    why.err = own_node != code::ok ? own_node : node_of_fence;
    w->done(why);
}

// The base as locks make it: it is never empty once fences are in it.
contention::calls contention::makers_of(const std::string& fence_path) const {
    calls all;
    for (const auto& directory : paths_.ancestors(paths_.base()))
        all.push_back({zookeeper::create(directory, {}, zookeeper::lifetime::container, access_),
                       [](const answer&) {}});
    all.push_back({zookeeper::create(parent_of(fence_path), {}, zookeeper::lifetime::persistent, access_),
                   [](const answer&) {}});
    return all;
}

}  // namespace holdfast::zookeeper_backend
