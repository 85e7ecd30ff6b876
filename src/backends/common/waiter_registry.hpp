// The waiters that messages of a store are for.
#pragma once

#include "base/annotations.hpp"
#include "store/store.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace holdfast::backends {

// A handler is called by whoever looked it up, without a lock: a waiter that ends meanwhile may receive one
// more event, as backend::watch_handle says.
//
// Thread-safe.
class waiter_registry {
  public:
    using receiver = std::shared_ptr<backend::handler<backend::watch_event>>;

    // The waiter stays until the handle is destroyed, and the handle keeps `in` until then. One owner may
    // wait twice: for the writer and for the reader of a shared mutex.
    [[nodiscard]] static std::unique_ptr<backend::watch_handle> add(
        const std::shared_ptr<waiter_registry>& in, const backend::lock_key& key, const owner_id& owner,
        receiver to);

    // nullptr: nobody waits, so a grant in the message must be released.
    [[nodiscard]] receiver find(std::string_view owner) const;
    [[nodiscard]] receiver find(backend::kind of, const owner_id& owner) const;
    [[nodiscard]] std::vector<receiver> all() const;
    [[nodiscard]] std::vector<receiver> all_of(const lock_name& name, const owner_id& except) const;
    [[nodiscard]] bool empty() const;

  private:
    class entry;
    struct waiter {
        backend::lock_key key;
        receiver to;
    };
    struct text_hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    void remove(const backend::lock_key& key, const owner_id& owner);

    mutable base::mutex mutex_;
    std::unordered_multimap<std::string, waiter, text_hash, std::equal_to<>> waiters_
        GUARDED_BY(mutex_);  // by owner
};

}  // namespace holdfast::backends
