// The keys of a local store, which a server would keep. Shared by all clients that name the same space.
#pragma once

#include "backends/common/confirmed_evictions.hpp"
#include "backends/common/waiter_registry.hpp"
#include "base/annotations.hpp"
#include "engine/lock_record.hpp"
#include "store/counters.hpp"
#include "store/inspection.hpp"
#include "store/linearizable_register.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::local_backend {

using watch_handler = backend::handler<backend::watch_event>;

// Thread-safe. Each function works at one instant, like a script on a server, and calls watch handlers
// afterwards.
class space : public std::enable_shared_from_this<space> {
  public:
    [[nodiscard]] static std::shared_ptr<space> named(const std::string& name);

    static constexpr std::uint32_t fences_per_grant = 16;  // the grant itself has the first

    backend::attempt_answer attempt(const backend::attempt_request& r);
    backend::renew_answer renew(const backend::renew_request& r);
    backend::release_answer release(const backend::release_request& r);
    backend::adjust_answer adjust(const backend::adjust_request& r);
    backend::lock_info inspect(const lock_name& name);
    std::vector<backend::lock_info> list(const std::string& glob);
    // Returns those of `owners` from which the lock was taken.
    std::vector<backend::evicted> evict(const lock_name& name, const std::vector<std::string>& owners);
    [[nodiscard]] backend::register_value read_register(std::string_view name);
    // Returns what the register holds afterwards.
    backend::register_value change_register(std::string_view name, std::uint64_t expected,
                                            std::string_view text);
    // If `owner` still holds the lock, asks all clients of the space to give up its lease. Also reports
    // whether a client has confirmed that it did.
    backend::asked ask_to_give_up(const lock_name& name, const backend::holder_info& of);

    // A client of this space, which receives the requests of operators. Destroy it before what `on_request`
    // uses; the destructor waits for a running call.
    class member {
      public:
        // Receives the owner, and what to call when its lease has ended.
        using request = std::function<void(const owner_id&, std::function<void()> confirm)>;
        member(std::shared_ptr<space> of, request on_request);
        member(const member&) = delete;
        member& operator=(const member&) = delete;
        ~member();

      private:
        friend class space;
        const std::shared_ptr<space> of_;
        const request give_up_;
    };

    [[nodiscard]] std::unique_ptr<backend::watch_handle> watch(
        const backend::lock_key& key, const owner_id& owner, const std::shared_ptr<watch_handler>& on_event);

  private:
    using calls = std::vector<std::function<void()>>;

    template <class Request>
    auto act(const lock_name& name, const Request& request);
    // Applies `request` to the record of `name` and collects the calls that report it.
    template <class Request>
    auto apply(const lock_name& name, const Request& request, calls& after) REQUIRES(mutex_);
    // Returns how many watchers a message to all wakes.
    std::uint32_t notify(const lock_name& name, const engine::messages& what, calls& after) REQUIRES(mutex_);

    base::mutex members_mutex_;  // held during the calls; locked before mutex_
    std::set<member*> members_ GUARDED_BY(members_mutex_);

    // Their mutexes are locked after the others.
    backends::confirmed_evictions evictions_;
    backends::waiter_registry waiters_;

    base::mutex mutex_;
    std::map<lock_name, engine::lock_record> records_ GUARDED_BY(mutex_);
    std::map<std::string, backend::register_value, std::less<>> registers_ GUARDED_BY(mutex_);
    std::uint64_t next_ticket_ GUARDED_BY(mutex_) = 1;
    std::uint64_t next_fence_ GUARDED_BY(mutex_) = fences_per_grant;
};

}  // namespace holdfast::local_backend
