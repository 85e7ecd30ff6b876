// What the members of a redlock say of its locks, put together.
#pragma once

#include "backends/quorum/council.hpp"

#include <holdfast/backend.hpp>

namespace holdfast::quorum_backend {

// Who has a majority holds it; where nobody has one, those who have some members are shown as
// "mutex without a majority" (or "recursive_mutex ..."), or as "mutex, perhaps with a majority" if those that
// did not answer might make it one. Where each of most members has one owner of Java's, and each another,
// they are shown as "recursive_mutex, an owner each on 3 of 3 members". No answer of too few members is an
// answer.
void inspect(const std::shared_ptr<council>&, const lock_name&, time_point deadline,
             backend::handler<backend::result<backend::lock_info>>);
void list(const std::shared_ptr<council>&, const std::string& glob, backend::listed which,
          time_point deadline, backend::handler<backend::result<std::vector<backend::lock_info>>>);
// On all members: an owner holds it if it does on one, and it was taken from an owner if it was on one.
void ask_to_give_up(const std::shared_ptr<council>&, const lock_name&, const backend::holder_info&,
                    time_point deadline, backend::handler<backend::result<backend::asked>>);
void evict(const std::shared_ptr<council>&, const lock_name&, const std::vector<std::string>& owners,
           time_point deadline, backend::handler<backend::result<std::vector<backend::evicted>>>);

}  // namespace holdfast::quorum_backend
