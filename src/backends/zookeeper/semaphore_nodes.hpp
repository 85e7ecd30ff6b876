// The nodes of a semaphore, in the layout of Curator's InterProcessSemaphoreV2. Pure.
//
//     /locks/NAME/leases/_c_UUID-lease-0000000003   a permit that is held
//     /locks/NAME/locks/_c_UUID-lock-0000000007     a waiter; the first may take permits next
//     /locks/NAME/count                             how many permits there are, as a SharedCount
//
// A client of Curator takes its place in the line first, then creates its permit, and leaves the line when
// there are no more permits than there should be: until then its permit counts, too.
#pragma once

#include "backends/zookeeper/paths.hpp"
#include "engine/kinds.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::zookeeper_backend {

[[nodiscard]] constexpr bool is_semaphore(backend::kind of) noexcept {
    return engine::rules_of(of).belongs_to == engine::family::semaphore;
}

struct semaphore_paths {
    explicit semaphore_paths(std::string of) : directory(std::move(of)) {}

    std::string directory;  // of the semaphore
    std::string line = directory + "/locks";
    std::string permits = directory + "/leases";
    std::string count = directory + "/count";
};
// The directory in which an owner has its place in the line: for most locks, their own.
[[nodiscard]] std::string directory_of(const paths&, const backend::lock_key&);

// "_c_UUID-lease-": the servers append the number.
[[nodiscard]] std::string prefix_of_permit(const owner_id&);
// A child of the directory that no semaphore has; empty: there is none.
[[nodiscard]] std::string alien_in(std::span<const std::string> children);

[[nodiscard]] bool is_directory_of_semaphore(std::span<const std::string> children);

// What the listing of all permits says about those of one owner.
struct permits_of_owner {
    std::vector<std::string> names;
    // How many permits had been created when the last of these was, itself among them. An owner holds its
    // permits if that is no more than there should be: of too many owners, the last one sees all others.
    std::int64_t rank = 0;
    bool exhausted = false;  // there are numbers that are no longer unique
};
[[nodiscard]] permits_of_owner look_for(const owner_id&, std::span<const std::string> permits);

}  // namespace holdfast::zookeeper_backend
