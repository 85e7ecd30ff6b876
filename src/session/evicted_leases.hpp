// Evicted leases whose locks the store keeps until the work under them has stopped (config::keep_evicted).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace holdfast::session {

class held_lease;

// Bookkeeping only: it neither releases nor reports anything. Not thread-safe: the client guards it by its
// mutex. So it returns the reports to operators, to be called without that mutex.
//
//   a lease is | by                                                    | then
//   -----------+-------------------------------------------------------+----------------------------------
//   kept       | keep(), before it is lost                             | its release frees the lock
//   kept       | count_holds(), when it is lost                        | the last of its holds does
//   not kept   | forget(): it ended in another way                     | its eviction is not reported
//   not kept   | end_hold() of the last hold, end_all()                | the caller reports and releases
class evicted_leases {
  public:
    using lease = std::shared_ptr<held_lease>;
    using report = std::function<void()>;
    struct freed {
        lease of;
        report gave_up;  // may be empty
    };

    // Keeps the leases of one eviction; a writer that reads as well has two. The last of them to be freed
    // returns `gave_up`. Returns false and keeps none if a thread holds one by lock(), which is free at once,
    // or if another eviction has one of them.
    [[nodiscard]] bool keep(const std::vector<lease>& struck, report gave_up);
    // A lease of the eviction ended in another way, so not all of it ended by the eviction.
    void forget(const held_lease& t);
    [[nodiscard]] bool keeps(const held_lease& t) const { return kept_.contains(&t); }

    // Sets how many holds of the lease are to be released; 1 until this is called. Does nothing if the lease
    // is not kept.
    void count_holds(const held_lease& t, std::uint32_t holds);
    // A hold of an ended lease was released. Empty: other holds remain. Otherwise the caller may release the
    // lock, also if it was not kept, after it has called the report, which may be empty.
    [[nodiscard]] std::optional<report> end_hold(const held_lease& t);
    // The client and all its work end.
    [[nodiscard]] std::vector<freed> end_all();

  private:
    struct eviction {
        std::size_t open;  // leases that are still kept
        report gave_up;
    };
    struct kept {
        lease of;  // keeps the address in use that is the key here
        std::shared_ptr<eviction> by;
        std::uint32_t holds = 1;
    };
    using entries = std::unordered_map<const held_lease*, kept>;

    [[nodiscard]] freed take_out(entries::iterator it);

    entries kept_;
};

}  // namespace holdfast::session
