// What the members of a redlock say of its locks, put together.
#pragma once

#include "backends/quorum/council.hpp"

#include <holdfast/backend.hpp>

namespace holdfast::quorum_backend {

// Who has a majority holds it; where nobody has one, those who have some members are shown as
// "mutex without a majority" (or "recursive_mutex ..."), or as "mutex, perhaps with a majority" if those that
// did not answer might make it one. No answer of too few members is an answer.
void inspect(const std::shared_ptr<council>&, const lock_name&, time_point deadline,
             backend::handler<backend::result<backend::lock_info>>);
void list(const std::shared_ptr<council>&, const std::string& glob, time_point deadline,
          backend::handler<backend::result<std::vector<backend::lock_info>>>);
// On all members: true if it was held on one.
void evict(const std::shared_ptr<council>&, const lock_name&, time_point deadline,
           backend::handler<backend::result<bool>>);

}  // namespace holdfast::quorum_backend
