// Locks that stay available while their store is away (on_outage::fail_open_host and fail_open_process).
//
// A substitute, a store of this machine or process, has each lock always, and the main store has it on top.
// An outage waives only the main store. So lock holders of one machine (process) exclude each other whatever
// happens, also in the moments in which one of them sees the main store and the other does not.
//
//   attempt    substitute: busy, refused --> the answer
//              granted --> main store: granted, busy, refused --> the answer
//                                      an outage, or no answer --> again; after policy::tries --> waived
//   renew      substitute, then main store unless it was waived
//   release    main store and substitute
//
// An attempt that was waived without an answer may have been carried out: it is undone. While a lease is
// held without the main store, its name is asked for there, once a second: restored, or overlap (event.hpp).
#pragma once

#include "backends/services.hpp"
#include "fallback/breakers.hpp"
#include "fallback/wish.hpp"
#include "store/forwarding_store.hpp"

#include <holdfast/policy.hpp>

#include <functional>
#include <memory>

namespace holdfast::fallback {

struct fail_open_tools {
    backends::services given;  // `notify` receives what happens to leases; `settings` as for the main store
    policy how;
    backend::store& main;  // outlives the result
    // Releases in the main store what an attempt without an answer may have been granted, later and again.
    std::function<void(const backend::lock_key&, const owner_id&, std::chrono::milliseconds lease)> undo;
    std::unique_ptr<backend::store> (*open)(const backends::services&);  // the store that a URL names
    std::shared_ptr<const wish> wished;
    std::shared_ptr<breakers> all_breakers;  // of the client
};

class fail_open : public backend::forwarding_store {
  public:
    using forwarding_store::forwarding_store;

    virtual void main_is_up() = 0;  // reached again after an outage
};

// Throws holdfast::error (errc::invalid_argument) if the main store's locks cannot have a substitute.
[[nodiscard]] std::unique_ptr<fail_open> open_fail_open(fail_open_tools with);

}  // namespace holdfast::fallback
