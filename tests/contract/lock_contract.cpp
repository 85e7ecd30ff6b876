#include "contract/lock_contract.hpp"

namespace holdfast::contract {

std::string name_of(const subject& s) {
    std::string name = s.store == store_kind::redis ? "redis_" : "local_";
    switch (s.lock) {
        case lock_kind::mutex: return name + "mutex";
        case lock_kind::fenced_mutex: return name + "fenced_mutex";
        case lock_kind::recursive_mutex: break;
    }
    return name + "recursive_mutex";
}

std::vector<subject> subjects_of(std::initializer_list<lock_kind> kinds) {
    std::vector<subject> all;
    for (const auto store : {store_kind::redis, store_kind::local}) {
        for (const auto kind : kinds) all.push_back({store, kind});
    }
    return all;
}

std::vector<subject> all_subjects() {
    return subjects_of({lock_kind::mutex, lock_kind::fenced_mutex, lock_kind::recursive_mutex});
}

// --- diary ------------------------------------------------------------------------------------------

diary::diary(client& of)
    : subscription_(of.on_event([p = pages_](const event& e) {
          const std::lock_guard hold{p->mutex};
          p->events.push_back(e);
          p->changed.notify_all();
      })) {}

std::optional<event> diary::next(event_kind kind, milliseconds limit) {
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

std::size_t diary::count(event_kind kind) {
    const std::lock_guard hold{pages_->mutex};
    const auto is_it = [&](const event& e) { return e.kind == kind; };
    return static_cast<std::size_t>(std::count_if(pages_->events.begin(), pages_->events.end(), is_it));
}

// --- fixture ----------------------------------------------------------------------------------------

test::redis_server& lock_contract::server() {
    static test::redis_server one;
    return one;
}

void lock_contract::SetUp() {
    if (on_redis()) server().command({"FLUSHALL"});
    a_ = another_client();
    b_ = another_client();
}

void lock_contract::TearDown() {
    a_.reset();
    b_.reset();
}

config lock_contract::settings() const {
    config c;
    c.url = on_redis() ? server().url() : "local:contract";
    return c;
}

any_lock lock_contract::lock_of(client& on, const lock_name& name, lock_options options) const {
    switch (GetParam().lock) {
        case lock_kind::mutex:
            return std::make_shared<mutex>(on, name, mutex_options{options.ttl, options.renew, false});
        case lock_kind::fenced_mutex:
            return std::make_shared<mutex>(on, name, mutex_options{options.ttl, options.renew, true});
        case lock_kind::recursive_mutex: break;
    }
    return std::make_shared<recursive_mutex>(on, name,
                                             recursive_options{options.ttl, options.renew, wake::message});
}

lease lock_contract::briefly(const any_lock& lock, milliseconds ttl) {
    for (;;) {
        std::error_code ec;
        auto held = lock->acquire(ec, {.ttl = ttl});
        if (held || ec != errc::lease_too_short) return held;
    }
}

// It has looked, listened and asked again.
bool lock_contract::somebody_waits(client& waiting) {
    return eventually(patience, [&] { return waiting.stats().attempts.busy >= 2; });
}

bool lock_contract::queue_has(std::size_t waiters) {
    return eventually(patience, [&] { return inspect(b(), stock).queue.size() == waiters; });
}

bool lock_contract::nothing_is_left(const lock_name& name) {
    return eventually(patience, [&] {
        const auto seen = inspect(b(), name);
        if (seen.layout != "free" || !seen.holders.empty() || !seen.queue.empty()) return false;
        if (!on_redis()) return true;
        const auto keys = server().keys();
        return std::all_of(keys.begin(), keys.end(),
                           [&](const auto& k) { return k.starts_with("holdfast:f"); });
    });
}

// --- who is put to the test ---------------------------------------------------------------------------

namespace {
std::string suffix(const ::testing::TestParamInfo<subject>& info) { return name_of(info.param); }
}  // namespace

INSTANTIATE_TEST_SUITE_P(on, lock_contract, ::testing::ValuesIn(all_subjects()), suffix);
INSTANTIATE_TEST_SUITE_P(on, mutex_contract,
                         ::testing::ValuesIn(subjects_of({lock_kind::mutex, lock_kind::fenced_mutex})),
                         suffix);
INSTANTIATE_TEST_SUITE_P(on, recursive_contract,
                         ::testing::ValuesIn(subjects_of({lock_kind::recursive_mutex})), suffix);
INSTANTIATE_TEST_SUITE_P(on, fenced_contract, ::testing::ValuesIn(subjects_of({lock_kind::fenced_mutex})),
                         suffix);

}  // namespace holdfast::contract
