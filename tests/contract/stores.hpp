// The stores on which the contract is tested, and what each of them can do. A new store is one row of the
// table in stores.cpp: every test that its abilities allow then runs on it, with every kind that it supports.
#pragma once

#include "engine/kinds.hpp"
#include "store/store.hpp"

#include <holdfast/policy.hpp>

#include <gtest/gtest.h>

#include <array>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::contract {

// One kind in one suite of tests; an empty suite means all suites.
struct choice {
    std::string_view suite;
    kind of;
};

struct store_row {
    std::string_view name;  // in the names of tests
    std::string (*url)();   // the first call starts the servers of the store, if it has any
    // A URL of this form that needs no servers: the store is opened there to ask for its abilities. Empty:
    // `url`.
    std::string_view unserved{};
    // Where each name is another lock than at `url`. nullptr: the store has one space of names.
    std::string (*other_url)() = nullptr;
    bool in_order =
        true;  // the store serves the waiters of a kind with a queue in the order of their arrival
    bool commits = false;       // each change waits for a server that writes it to its log
    void (*clear)() = nullptr;  // deletes everything on the servers
    std::vector<std::string> (*leftovers)() = nullptr;  // keys on the servers that should be gone
    std::vector<choice> only{};                         // not empty: a sample; all other tests are left out
    bool kinds_share_code = false;   // they differ in how they change a record, which is tested on its own
    std::vector<policy> policies{};  // of the clients
    std::vector<choice> left_out{};  // although the store's abilities allow them
};

// What the opened store says about itself.
struct abilities {
    backend::capabilities has;
    std::array<bool, backend::kinds> supports{};
    bool counters = false;
    bool inspection = false;
    bool proves_session = false;  // a lease is valid only while its session was proved
    bool has_modes = false;       // likewise, while the mode was confirmed
    bool in_order = true;
    bool shards = false;  // the keys of two locks may be in different places

    [[nodiscard]] bool has_kind(kind of) const { return supports[static_cast<std::size_t>(of)]; }
    // For the kinds that have a queue (kind_rules): a hand-off is a message, and votes make no order.
    [[nodiscard]] bool keeps_queue() const {
        return in_order && has.ask_every == backend::milliseconds{0} && !has.votes;
    }
    [[nodiscard]] bool ends_by_session() const { return has.ends == backend::lease_end::by_session; }
};

// A kind of lock on a store: the parameter of all tests.
struct subject {
    const store_row* store;
    kind of;

    [[nodiscard]] const engine::kind_rules& rules() const { return engine::rules_of(of); }
    [[nodiscard]] const abilities& can() const;
};
// "redis_mutex_fenced". A shared mutex is named by its writer.
[[nodiscard]] std::string name_of(const subject& s);
inline void PrintTo(const subject& s, std::ostream* out) { *out << name_of(s); }

// What a suite needs of a kind and its store.
using need = bool (*)(const subject& s);

namespace needs {
// The kinds that fixtures make as an exclusive lock: neither a count nor a reader.
[[nodiscard]] bool a_lock(const subject& s);
[[nodiscard]] bool a_mutex_with_queue(const subject& s);
[[nodiscard]] bool a_queue(const subject& s);
[[nodiscard]] bool local_turns(const subject& s);  // a grant may pass between threads
[[nodiscard]] bool a_recursive_lock(const subject& s);
[[nodiscard]] bool fences(const subject& s);
template <kind Of>
[[nodiscard]] bool the_kind(const subject& s) {
    return s.of == Of;
}
[[nodiscard]] bool permits(const subject& s);  // a semaphore
// A lock on a store that also has mutexes with fences and semaphores.
[[nodiscard]] bool a_lock_among_other_kinds(const subject& s);
}  // namespace needs

enum class coverage {
    full,
    sample,  // of the stores whose row has a list of the only tests
};
// In the order of the table, then of `kind`.
[[nodiscard]] std::vector<subject> subjects_for(std::string_view suite, need needed, coverage of);

[[nodiscard]] inline std::string suffix(const ::testing::TestParamInfo<subject>& info) {
    return name_of(info.param);
}

// Runs a suite on every store and kind that meets the need. The tests on samples have a prefix of their own.
#define HOLDFAST_INSTANTIATE_CONTRACT(suite, need)                                                       \
    INSTANTIATE_TEST_SUITE_P(on, suite, ::testing::ValuesIn(subjects_for(#suite, need, coverage::full)), \
                             suffix);                                                                    \
    INSTANTIATE_TEST_SUITE_P(sample, suite,                                                              \
                             ::testing::ValuesIn(subjects_for(#suite, need, coverage::sample)), suffix)

}  // namespace holdfast::contract
