// The leases that an operator has evicted and whose locks are kept at the store until the work under them has
// stopped (config::keep_evicted).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace holdfast::session {

class tenancy;

// Bookkeeping only: it neither releases nor reports anything. Not thread-safe: the core has one and guards it
// by its mutex, and so the reports to operators are handed out, to be called without that mutex.
//
//   a lease is | by                                                    | then
//   -----------+-------------------------------------------------------+----------------------------------
//   kept       | keep(), before it is lost                             | its release frees the lock
//   kept       | count_holds(), when it is lost                        | the last of its holds does
//   not kept   | forget(): a lease of the eviction ended in another way| nobody is told
//   not kept   | end_hold() of the last hold, end_all()                | the caller reports and releases
class evicted_leases {
  public:
    using lease = std::shared_ptr<tenancy>;
    using report = std::function<void()>;
    struct freed {
        lease of;
        report gave_up;  // may be empty
    };

    // What one eviction strikes; a writer that reads as well has two. `gave_up` is handed out with the last
    // that is freed. False, and none of them is kept for it: a thread holds one by lock(), which is free at
    // once, or another eviction strikes it just now.
    [[nodiscard]] bool keep(const std::vector<lease>& struck, report gave_up);
    void forget(const std::vector<lease>& struck);
    [[nodiscard]] bool keeps(const tenancy& t) const { return kept_.contains(&t); }

    // So many holds of it are to be released. One, until this is called; nothing if it is not kept.
    void count_holds(const tenancy& t, std::uint32_t holds);
    // A hold of a lease that is over was released. Empty: others of it are still at work. Else the lock may
    // be freed, also if it was not kept; the report comes first, and may be empty.
    [[nodiscard]] std::optional<report> end_hold(const tenancy& t);
    // The client ends, and all work with it.
    [[nodiscard]] std::vector<freed> end_all();

  private:
    struct eviction {
        std::size_t open;  // leases that are still kept
        report gave_up;
    };
    struct kept {
        lease of;  // its address is in use as long as it is a key here
        std::shared_ptr<eviction> by;
        std::uint32_t holds = 1;
    };
    using entries = std::unordered_map<const tenancy*, kept>;

    [[nodiscard]] freed take_out(entries::iterator it);

    entries kept_;
};

}  // namespace holdfast::session
