// Names of nodes: where a lock is in the tree, and what its children mean. Pure.
//
// A lock is a directory, each holder or waiter an ephemeral child with a sequence number. The names are those
// of Apache Curator's recipes, so Curator and holdfast share locks: docs/stores/zookeeper.md has the table. A
// URL may choose those of kazoo's Lock instead.
#pragma once

#include "store/requests.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::zookeeper_backend {

// One element of a path: bytes that ZooKeeper refuses, or that mean something in a path, become %XX.
[[nodiscard]] std::string escaped(std::string_view name);
// The name again; empty if `element` was not made by escaped().
[[nodiscard]] std::optional<std::string> unescaped(std::string_view element);

// Whose names the children of a mutex have.
enum class naming { curator, kazoo };

// What a child of a lock's directory takes part in.
enum class role {
    mutex,   // "...lock-0000000012"; with kazoo's names "...__lock__0000000012"
    reader,  // "...__READ__0000000012"
    writer,  // "...__WRIT__0000000012"
    unseen,  // a lock by the other names, or kazoo's "...__rlock__0000000012": it does not see the others
    permit,  // "...lease-0000000012", in a directory of its own: semaphore_nodes.hpp
    other,
};
struct child {
    std::string name;
    role is = role::other;
    std::int64_t number = 0;
};
[[nodiscard]] child parse_child(std::string_view name, naming = naming::curator);
// The owner in the name: the UUID of "_c_UUID-..." or of kazoo's "DIGITS__...", else the whole name.
[[nodiscard]] std::string owner_in(std::string_view name);

// The UUID in the names of an owner's nodes. An owner that is no UUID begins with the digits of one, as those
// of a permit_semaphore do.
[[nodiscard]] std::string uuid_of(std::string_view owner);

// "_c_UUID-lock-", or with kazoo's names "DIGITS__lock__": the servers append the number. For a semaphore
// this is the owner's place in the line.
[[nodiscard]] std::string prefix_of(backend::kind of, const owner_id& owner, naming = naming::curator);
[[nodiscard]] role role_of(backend::kind of);
// The reader of a writer that reads as well: it has the writer's number.
[[nodiscard]] std::string name_of_downgraded(const owner_id& reader, std::string_view writer);

// Above this, no new contender gets a number: at 2^31 the servers' numbers stick, and several contenders
// would have the same one.
inline constexpr std::int64_t highest_number = (std::int64_t{1} << 31) - 1'000'000;

// What a listing of the directory says about one of its children.
struct place {
    enum class what {
        holds,
        waits,
        missing,    // it is not in the listing
        mismatch,   // there are children of another recipe
        exhausted,  // there are numbers that are no longer unique
    } is;
    std::string watch{};   // the child whose end lets it try again; with waits
    std::string holder{};  // the owner in the first child; with waits
    // With mismatch: the name of a child of another recipe. With exhausted: the directory, if it is not the
    // one that was listed.
    std::string alien{};
    bool followed = false;  // others wait behind it; with holds
};
[[nodiscard]] place place_of(std::string_view name, std::span<const std::string> children,
                             naming = naming::curator);
// The same for a contender of this kind that has no child yet.
[[nodiscard]] place place_of_newcomer(backend::kind of, std::span<const std::string> children,
                                      naming = naming::curator);

// A whole listing in the order of service.
struct listing {
    std::vector<child> holders;
    std::vector<child> waiters;
    std::vector<child> others;
};
[[nodiscard]] listing sorted(std::span<const std::string> children, naming = naming::curator);

}  // namespace holdfast::zookeeper_backend
