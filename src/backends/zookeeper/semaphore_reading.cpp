#include "backends/zookeeper/semaphore_reading.hpp"

#include "backends/zookeeper/answers.hpp"
#include "backends/zookeeper/count_data.hpp"

#include <utility>

namespace holdfast::zookeeper_backend {

using namespace backend;
using zookeeper::answer;
using zookeeper::code;
using zookeeper::session;

namespace {

// Keeps itself alive until it has called `done`: the requests are answered in their order.
struct semaphore_reading : std::enable_shared_from_this<semaphore_reading> {
    semaphore_reading(semaphore_paths at, kind k, std::function<void(result<semaphore_seen>)> then)
        : paths(std::move(at)), of(k), done(std::move(then)) {}

    const semaphore_paths paths;
    const kind of;
    std::function<void(result<semaphore_seen>)> done;
    semaphore_seen seen;
    std::optional<failure> failed;
    bool may_be_latch_ = false;

    // The answer, unless the node does not exist.
    template <class Parse>
    auto read(const answer& a, const std::string& path, Parse parse) -> decltype(parse(a.body)) {
        if (a.is(code::no_node)) return std::nullopt;
        auto found = a.ok() ? parse(a.body) : std::nullopt;
        if (!found && !failed) failed = failure_of(a, path);
        return found;
    }
    void on_directory(const answer& a) {
        if (const auto all = read(a, paths.directory, zookeeper::parse_children)) {
            seen.alien = alien_in(all->names);
            may_be_latch_ = may_be_latch(all->about);
        }
    }
    // Others may have put data there, which mean nothing.
    void on_data(const answer& a) {
        const auto node = read(a, paths.directory, zookeeper::parse_data);
        seen.latch = node && may_be_latch_ && parse_count_data(node->data, kind::latch);
    }
    void on_count(const answer& a) {
        const auto node = read(a, paths.count, zookeeper::parse_data);
        if (!node) return;
        seen.count = parse_count_data(node->data, of);
        seen.count_version = node->about.version;
        if (!seen.count && !failed)
            failed = {errc::wrong_kind, "the data of " + paths.count + " are no number of permits", {}};
    }
    void on_line(const answer& a) {
        if (auto all = read(a, paths.line, zookeeper::parse_children)) seen.line = std::move(all->names);
    }
    void on_permits(const answer& a) {
        if (auto all = read(a, paths.permits, zookeeper::parse_children)) {
            seen.permits = std::move(all->names);
            seen.permits_version = all->about.version;
        }
        if (failed) return done(std::move(*failed));
        done(std::move(seen));
    }
    session::call call(zookeeper::request r, void (semaphore_reading::*then)(const answer&)) {
        return {std::move(r), [self = shared_from_this(), then](const answer& a) { (self.get()->*then)(a); }};
    }
};

}  // namespace

std::optional<failure> semaphore_seen::objection(const semaphore_paths& at) const {
    if (latch) return failure{errc::wrong_kind, "the name is used by a latch", {}};
    if (alien.empty()) return std::nullopt;
    return failure{errc::wrong_kind,
                   "the name is used by another kind of lock: the node " + at.directory + '/' + alien,
                   {}};
}

void read_semaphore(const std::shared_ptr<session>& with, const semaphore_paths& at, kind of,
                    zookeeper::watch watch, time_point deadline,
                    std::function<void(result<semaphore_seen>)> done) {
    using self = semaphore_reading;
    const auto r = std::make_shared<self>(at, of, std::move(done));
    constexpr auto unwatched = zookeeper::watch::no;
    std::vector<session::call> calls;
    calls.push_back({zookeeper::sync(at.directory), [](const answer&) {}});
    calls.push_back(r->call(zookeeper::get_children(at.directory, unwatched), &self::on_directory));
    calls.push_back(r->call(zookeeper::get_data(at.directory, unwatched), &self::on_data));
    // Watches the creation, too.
    if (watch == zookeeper::watch::yes)
        calls.push_back({zookeeper::exists(at.count, watch), [](const answer&) {}});
    calls.push_back(r->call(zookeeper::get_data(at.count, unwatched), &self::on_count));
    calls.push_back(r->call(zookeeper::get_children(at.line, unwatched), &self::on_line));
    calls.push_back(r->call(zookeeper::get_children(at.permits, watch), &self::on_permits));
    with->submit(std::move(calls), deadline);
}

}  // namespace holdfast::zookeeper_backend
