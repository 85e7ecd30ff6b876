#include "backends/zookeeper/examine.hpp"

#include "backends/zookeeper/answers.hpp"
#include "backends/zookeeper/judgement.hpp"
#include "backends/zookeeper/semaphore_nodes.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace holdfast::zookeeper_backend {

using namespace backend;
using zookeeper::answer;

namespace {

constexpr std::size_t most_directories = 1'000;

// The nodes first, then the servers one by one.
struct examining : std::enable_shared_from_this<examining> {
    std::shared_ptr<zookeeper::session> with;
    zookeeper::server_words* words = nullptr;
    std::string base;
    examined what;
    time_point deadline;
    std::function<void(result<examination>)> done;
    ensemble_state found;

    void read_config() {
        ask(zookeeper::get_data("/zookeeper/config", zookeeper::watch::no), [self = keep()](const answer& a) {
            if (a.how != answer::outcome::answered) return self->done(failure_of(a, "/zookeeper/config"));
            if (const auto config = a.ok() ? zookeeper::parse_data(a.body) : std::nullopt)
                self->found.config = std::string{config->data};
            else
                self->found.config_refused = to_text(a.err);
            self->found.session = self->with->timeout();
            if (self->what.name)
                self->read_directories({self->base});
            else
                self->list_directories();
        });
    }

  private:
    std::shared_ptr<examining> keep() { return shared_from_this(); }

    void ask(zookeeper::request r, zookeeper::session::handler then) {
        std::vector<zookeeper::session::call> one;
        one.push_back({std::move(r), std::move(then)});
        with->submit(std::move(one), deadline);
    }
    void list_directories() {
        ask(zookeeper::get_children(base, zookeeper::watch::no), [self = keep()](const answer& a) {
            const auto all = a.ok() ? zookeeper::parse_children(a.body) : std::nullopt;
            if (!all) {
                if (!a.is(zookeeper::code::no_node))
                    self->found.numbers_refused = a.how == answer::outcome::answered ? to_text(a.err) : a.why;
                return self->ask_servers();
            }
            std::vector<std::string> paths;
            for (const auto& name : all->names)
                if (paths.size() < most_directories) paths.push_back(self->base + '/' + name);
            self->read_directories(paths);
        });
    }
    void read_directories(const std::vector<std::string>& of_locks) {
        if (of_locks.empty()) return ask_servers();
        std::vector<std::string> paths;
        for (const auto& path : of_locks) {
            const semaphore_paths semaphore{path};
            paths.insert(paths.end(), {path, semaphore.line, semaphore.permits});
        }
        std::vector<zookeeper::session::call> reads;
        for (const auto& path : paths) {
            const bool last = &path == &paths.back();
            reads.push_back(
                {zookeeper::exists(path, zookeeper::watch::no), [self = keep(), path, last](const answer& a) {
                     self->on_directory(path, a);
                     if (last) self->ask_servers();
                 }});
        }
        with->submit(std::move(reads), deadline);
    }
    void on_directory(const std::string& path, const answer& a) {
        if (a.is(zookeeper::code::no_node)) return;
        const auto about = a.ok() ? zookeeper::parse_stat(a.body) : std::nullopt;
        if (!about) {
            found.numbers_refused = a.how == answer::outcome::answered ? to_text(a.err) : a.why;
        } else if (const auto n = numbers_given(*about); found.busiest.empty() || n > found.numbers) {
            found.busiest = path;
            found.numbers = n;
        }
    }
    void ask_servers() {
        words->ask(what.servers, deadline, [self = keep()](std::vector<zookeeper::told> all) {
            self->found.servers = std::move(all);
            self->done(judge(self->found));
        });
    }
};

}  // namespace

void examine(const std::shared_ptr<zookeeper::session>& with, zookeeper::server_words& words,
             const paths& where, examined what, time_point deadline,
             std::function<void(result<examination>)> done) {
    const auto run = std::make_shared<examining>();
    run->with = with;
    run->words = &words;
    run->base = what.name ? where.of(*what.name) : where.base();
    run->found.tick = what.tick;
    run->found.lease = what.lease;
    run->what = std::move(what);
    run->deadline = deadline;
    run->done = std::move(done);
    run->read_config();
}

}  // namespace holdfast::zookeeper_backend
