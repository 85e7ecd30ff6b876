#include "contract/lock_contract.hpp"

#include "contract/session_store.hpp"

#include <array>

namespace holdfast::contract {

namespace {

constexpr auto every_lock = {lock_kind::mutex,        lock_kind::mutex_fenced, lock_kind::recursive_mutex,
                             lock_kind::fenced_mutex, lock_kind::fair_mutex,   lock_kind::shared_mutex};

std::string_view text(lock_kind kind) {
    switch (kind) {
        case lock_kind::mutex: return "mutex";
        case lock_kind::mutex_fenced: return "mutex_fenced";
        case lock_kind::recursive_mutex: return "recursive_mutex";
        case lock_kind::fenced_mutex: return "fenced_mutex";
        case lock_kind::fair_mutex: return "fair_mutex";
        case lock_kind::shared_mutex: return "shared_mutex";
        case lock_kind::counting_semaphore: return "counting_semaphore";
        case lock_kind::permit_semaphore: return "permit_semaphore";
        case lock_kind::latch: break;
    }
    return "latch";
}

}  // namespace

std::string name_of(const subject& s) {
    const auto on = [&](std::string store) { return store.append(text(s.lock)); };
    switch (s.store) {
        case store_kind::redis: return on("redis_");
        case store_kind::cluster: return on("cluster_");
        case store_kind::redlock: return on("redlock_");
        case store_kind::session: return on("session_");
        case store_kind::local: break;
    }
    return on("local_");
}

std::vector<subject> subjects_of(std::initializer_list<lock_kind> kinds) {
    std::vector<subject> all;
    for (const auto store : {store_kind::redis, store_kind::local, store_kind::session}) {
        for (const auto kind : kinds) {
            if (store != store_kind::session || kind != lock_kind::fair_mutex) all.push_back({store, kind});
        }
    }
    return all;
}

std::vector<subject> subjects_with_queue(std::initializer_list<lock_kind> kinds) {
    auto all = subjects_of(kinds);
    std::erase_if(all, [](const subject& s) { return s.store == store_kind::session; });
    return all;
}

std::vector<subject> subjects_with_turns(std::initializer_list<lock_kind> kinds) {
    auto all = subjects_anywhere(kinds);
    std::erase_if(all, [](const subject& s) {
        return s.store == store_kind::session &&
               (s.lock == lock_kind::mutex_fenced || s.lock == lock_kind::fenced_mutex);
    });
    return all;
}

std::vector<subject> subjects_anywhere(std::initializer_list<lock_kind> kinds) {
    auto all = subjects_of(kinds);
    for (const auto kind : kinds) {
        if (kind == lock_kind::mutex || kind == lock_kind::mutex_fenced)
            all.push_back({store_kind::redlock, kind});
    }
    return all;
}

std::vector<subject> in_a_cluster(std::initializer_list<lock_kind> kinds) {
    std::vector<subject> all;
    for (const auto kind : kinds) all.push_back({store_kind::cluster, kind});
    return all;
}

std::vector<subject> all_subjects() { return subjects_anywhere(every_lock); }

std::vector<subject> subjects_with_all_kinds() { return subjects_of(every_lock); }

// --- event_log ------------------------------------------------------------------------------------------

event_log::event_log(client& of)
    : subscription_(of.on_event([p = pages_](const event& e) {
          const std::lock_guard hold{p->mutex};
          p->events.push_back(e);
          p->changed.notify_all();
      })) {}

std::optional<event> event_log::next(event_kind kind, milliseconds limit) {
    std::unique_lock hold{pages_->mutex};
    std::optional<event> found;
    pages_->changed.wait_for(hold, limit, [&] {
        for (std::size_t i = 0; i < pages_->events.size(); ++i) {
            if (pages_->events[i].kind != kind || std::find(read_.begin(), read_.end(), i) != read_.end())
                continue;
            read_.push_back(i);
            found = pages_->events[i];
            return true;
        }
        return false;
    });
    return found;
}

std::size_t event_log::count(event_kind kind) {
    const std::lock_guard hold{pages_->mutex};
    const auto is_it = [&](const event& e) { return e.kind == kind; };
    return static_cast<std::size_t>(std::count_if(pages_->events.begin(), pages_->events.end(), is_it));
}

// --- fixture ----------------------------------------------------------------------------------------

test::redis_server& lock_contract::server() {
    static test::redis_server one;
    return one;
}

std::span<test::redis_server> lock_contract::members() {
    static std::array<test::redis_server, 3> three;
    return three;
}

test::cluster_scene& lock_contract::cluster() {
    static test::cluster_scene three{{.masters = 3, .replicas = false}};
    return three;
}

std::vector<test::redis_server*> lock_contract::servers() const {
    std::vector<test::redis_server*> all;
    switch (GetParam().store) {
        case store_kind::redis: all.push_back(&server()); break;
        case store_kind::cluster:
            for (std::size_t n = 0; n < cluster().size(); ++n) all.push_back(&cluster().server(n));
            break;
        case store_kind::redlock:
            for (auto& m : members()) all.push_back(&m);
            break;
        case store_kind::local:
        case store_kind::session: break;
    }
    return all;
}

std::vector<std::string> lock_contract::keys() const {
    std::vector<std::string> all;
    for (auto* const one : servers())
        for (auto& key : one->keys()) all.push_back(std::move(key));
    return all;
}

void lock_contract::SetUp() {
    add_session_store();
    for (auto* const one : servers()) one->command({"FLUSHALL"});
    a_ = another_client();
    b_ = another_client();
}

void lock_contract::TearDown() {
    a_.reset();
    b_.reset();
}

namespace {

// The servers were started just now. How slow a busy machine makes one does not matter in this suite.
config redlock_config(std::span<test::redis_server> members, const std::string& database) {
    config c;
    c.url = "redlock:restarts=trusted,node_timeout=2s";
    for (const auto& m : members) c.url += "," + m.url() + database;
    return c;
}

}  // namespace

config lock_contract::settings() const {
    if (on_redlock()) return redlock_config(members(), "");
    config c;
    c.url = on_cluster()   ? cluster().url()
            : on_redis()   ? server().url()
            : by_session() ? "session:contract"
                           : "local:contract";
    return c;
}

config lock_contract::settings_elsewhere() const {
    if (on_redlock()) return redlock_config(members(), "/1");
    auto c = settings();
    c.url += on_redis() ? "/1" : "-elsewhere";
    return c;
}

any_lock lock_contract::lock_of(client& on, const lock_name& name, lock_options options) const {
    switch (GetParam().lock) {
        case lock_kind::mutex:
            return std::make_shared<mutex>(on, name, mutex_options{options.ttl, options.renew, false});
        case lock_kind::mutex_fenced:
            return std::make_shared<mutex>(on, name, mutex_options{options.ttl, options.renew, true});
        case lock_kind::recursive_mutex:
            return std::make_shared<recursive_mutex>(
                on, name, recursive_options{options.ttl, options.renew, wake::message});
        case lock_kind::fenced_mutex:
            return std::make_shared<fenced_mutex>(on, name, lock_options{options.ttl, options.renew});
        case lock_kind::fair_mutex:
            return std::make_shared<fair_mutex>(on, name, lock_options{options.ttl, options.renew});
        case lock_kind::shared_mutex: break;
        case lock_kind::counting_semaphore:
        case lock_kind::permit_semaphore:
        case lock_kind::latch: throw std::logic_error("not a lock");
    }
    return std::make_shared<shared_mutex>(on, name, lock_options{options.ttl, options.renew});
}

std::string lock_contract::layout_shown() const {
    if (is_mutex()) return "mutex";
    if (on_redis() && is({lock_kind::fair_mutex})) return "recursive_mutex";
    return std::string{text(GetParam().lock)};
}

lease lock_contract::nested(const any_lock& lock, const lease& outer) const {
    switch (GetParam().lock) {
        case lock_kind::recursive_mutex: return static_cast<recursive_mutex&>(*lock).acquire(outer);
        case lock_kind::fenced_mutex: return static_cast<fenced_mutex&>(*lock).acquire(outer);
        case lock_kind::fair_mutex: return static_cast<fair_mutex&>(*lock).acquire(outer);
        case lock_kind::shared_mutex: return static_cast<shared_mutex&>(*lock).acquire(outer);
        case lock_kind::mutex:
        case lock_kind::mutex_fenced:
        case lock_kind::counting_semaphore:
        case lock_kind::permit_semaphore:
        case lock_kind::latch: break;
    }
    throw std::logic_error("a mutex is not recursive");
}

lease lock_contract::briefly(const any_lock& lock, milliseconds ttl) {
    for (;;) {
        std::error_code ec;
        auto held = lock->acquire({.ttl = ttl}, ec);
        if (held || ec != errc::lease_too_short) return held;
    }
}

bool lock_contract::has_waiter(client& waiting) {
    return eventually(patience, [&] { return waiting.stats().attempts.busy >= 2; });
}

bool lock_contract::queue_has(std::size_t waiters) {
    return eventually(patience, [&] { return inspect(b(), stock).queue.size() == waiters; });
}

bool lock_contract::nothing_is_left(const lock_name& name) {
    return eventually(patience, [&] {
        const auto seen = inspect(b(), name);
        if (seen.layout != "free" || !seen.holders.empty() || !seen.queue.empty()) return false;
        const auto left = keys();
        return std::all_of(left.begin(), left.end(), [](const auto& k) {
            // Fences, what a redlock keeps on a member, and results of operations, which expire.
            return k.starts_with("holdfast:f") || k.starts_with("redisson_lock_token:") ||
                   k == "holdfast:redlock" || k.starts_with("holdfast:o");
        });
    });
}

// --- instantiations -----------------------------------------------------------------------------------

INSTANTIATE_TEST_SUITE_P(on, lock_contract, ::testing::ValuesIn(all_subjects()), suffix);
INSTANTIATE_TEST_SUITE_P(
    on, mutex_contract, ::testing::ValuesIn(subjects_with_queue({lock_kind::mutex, lock_kind::mutex_fenced})),
    suffix);
INSTANTIATE_TEST_SUITE_P(on, queue_contract,
                         ::testing::ValuesIn(subjects_with_queue({lock_kind::mutex, lock_kind::mutex_fenced,
                                                                  lock_kind::fair_mutex})),
                         suffix);
INSTANTIATE_TEST_SUITE_P(on, local_turns_contract,
                         ::testing::ValuesIn(subjects_with_turns(
                             {lock_kind::mutex, lock_kind::mutex_fenced, lock_kind::recursive_mutex,
                              lock_kind::fenced_mutex, lock_kind::shared_mutex})),
                         suffix);
INSTANTIATE_TEST_SUITE_P(on, recursive_contract,
                         ::testing::ValuesIn(subjects_of({lock_kind::recursive_mutex, lock_kind::fenced_mutex,
                                                          lock_kind::fair_mutex, lock_kind::shared_mutex})),
                         suffix);
INSTANTIATE_TEST_SUITE_P(
    on, fenced_contract,
    ::testing::ValuesIn(subjects_anywhere({lock_kind::mutex_fenced, lock_kind::fenced_mutex})), suffix);

INSTANTIATE_TEST_SUITE_P(on_cluster, lock_contract,
                         ::testing::ValuesIn(in_a_cluster({lock_kind::mutex, lock_kind::recursive_mutex})),
                         suffix);
INSTANTIATE_TEST_SUITE_P(on_cluster, mutex_contract, ::testing::ValuesIn(in_a_cluster({lock_kind::mutex})),
                         suffix);
INSTANTIATE_TEST_SUITE_P(on_cluster, queue_contract,
                         ::testing::ValuesIn(in_a_cluster({lock_kind::fair_mutex})), suffix);
INSTANTIATE_TEST_SUITE_P(on_cluster, recursive_contract,
                         ::testing::ValuesIn(in_a_cluster({lock_kind::shared_mutex})), suffix);
INSTANTIATE_TEST_SUITE_P(on_cluster, fenced_contract,
                         ::testing::ValuesIn(in_a_cluster({lock_kind::mutex_fenced})), suffix);

}  // namespace holdfast::contract
