#include "backends/zookeeper/node_checks.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace holdfast::zookeeper_backend {

namespace {

constexpr std::size_t at_a_time = 500;            // some 50 kB
constexpr std::size_t bytes_at_a_time = 500'000;  // names may be long; the servers accept 1 MiB

// A question stops at the first node that does not exist: the rest is asked for again.
struct check_run : std::enable_shared_from_this<check_run> {
    std::shared_ptr<zookeeper::session> with;
    std::vector<std::string> paths;
    zookeeper::time_point deadline;
    std::function<void(const checked&)> done;
    std::vector<bool> exist;

    void ask() {
        const auto from = exist.size();
        const auto count = count_from(from);
        std::vector<zookeeper::session::call> calls;
        calls.push_back(
            {zookeeper::check_all({paths.data() + from, count}),
             [self = shared_from_this(), count](const zookeeper::answer& a) { self->on(a, count); }});
        with->submit(std::move(calls), deadline);
    }
    [[nodiscard]] std::size_t count_from(std::size_t from) const {
        std::size_t count = 0;
        std::size_t bytes = 0;
        while (from + count < paths.size() && count < at_a_time) {
            bytes += paths[from + count].size() + 32;
            if (count > 0 && bytes > bytes_at_a_time) break;
            ++count;
        }
        return count;
    }
    void on(const zookeeper::answer& a, std::size_t count) {
        auto how = a;
        how.body = {};
        const auto codes =
            a.how == zookeeper::answer::outcome::answered ? zookeeper::parse_checks(a.body) : std::nullopt;
        if (!codes || codes->size() != count) return done({how, {}});
        std::size_t good = 0;
        while (good < count && (*codes)[good] == zookeeper::code::ok) ++good;
        exist.insert(exist.end(), good, true);
        if (good < count) {
            const auto why = (*codes)[good];
            if (why != zookeeper::code::no_node) {
                how.err = why;
                return done({how, {}});
            }
            exist.push_back(false);
        }
        if (exist.size() < paths.size()) return ask();
        how.err = zookeeper::code::ok;
        done({how, std::move(exist)});
    }
};

}  // namespace

void check_nodes(const std::shared_ptr<zookeeper::session>& with, std::vector<std::string> paths,
                 zookeeper::time_point deadline, std::function<void(const checked&)> done) {
    const auto run = std::make_shared<check_run>();
    run->with = with;
    run->paths = std::move(paths);
    run->deadline = deadline;
    run->done = std::move(done);
    run->ask();
}

}  // namespace holdfast::zookeeper_backend
