// Joins what the members of a redlock report about its locks.
#pragma once

#include "backends/redlock/members.hpp"
#include "store/inspection.hpp"

namespace holdfast::redlock_backend {

// The holder is the owner that has a majority. Where no owner has one, all owners are shown, with the layout
// "mutex without a majority" (or "recursive_mutex ..."), or "mutex, perhaps with a majority" if members that
// did not answer could make one. Where a majority of members has one owner of Redisson's each, and all
// differ, the layout is "recursive_mutex, an owner each on 3 of 3 members". Fewer answers than a majority are
// a failure.
void inspect(const std::shared_ptr<members>&, const lock_name&, backend::holders_shown, time_point deadline,
             backend::handler<backend::result<backend::lock_info>>);
void list(const std::shared_ptr<members>&, const std::string& glob, backend::listed which,
          time_point deadline, backend::handler<backend::result<std::vector<backend::lock_info>>>);
// Both ask all members. An owner that holds the lock on one member counts as a holder, and a lock that was
// taken from an owner on one member counts as taken.
void ask_to_give_up(const std::shared_ptr<members>&, const lock_name&, const backend::holder_info&,
                    time_point deadline, backend::handler<backend::result<backend::asked>>);
void evict(const std::shared_ptr<members>&, const lock_name&, const std::vector<std::string>& owners,
           time_point deadline, backend::handler<backend::result<std::vector<backend::evicted>>>);

}  // namespace holdfast::redlock_backend
