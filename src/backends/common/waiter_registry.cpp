#include "backends/common/waiter_registry.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::backends {

using backend::kind;
using backend::lock_key;

class waiter_registry::entry final : public backend::watch_handle {
  public:
    entry(std::shared_ptr<waiter_registry> in, lock_key key, owner_id owner)
        : in_(std::move(in)), key_(std::move(key)), owner_(std::move(owner)) {}
    ~entry() override { in_->remove(key_, owner_); }

  private:
    const std::shared_ptr<waiter_registry> in_;
    const lock_key key_;
    const owner_id owner_;
};

std::unique_ptr<backend::watch_handle> waiter_registry::add(const std::shared_ptr<waiter_registry>& in,
                                                            const lock_key& key, const owner_id& owner,
                                                            receiver to) {
    auto handle = std::make_unique<entry>(in, key, owner);
    base::guard lock(in->mutex_);
    in->waiters_.emplace(owner.str(), waiter{key, std::move(to)});
    return handle;
}

void waiter_registry::remove(const lock_key& key, const owner_id& owner) {
    receiver last;  // destroyed without the lock: it may own what waits for the lock
    base::guard lock(mutex_);
    const auto [first, end] = waiters_.equal_range(owner.str());
    const auto it = std::find_if(first, end, [&](const auto& one) { return one.second.key == key; });
    if (it == end) return;
    last = std::move(it->second.to);
    waiters_.erase(it);
}

waiter_registry::receiver waiter_registry::find(std::string_view owner) const {
    base::guard lock(mutex_);
    const auto it = waiters_.find(owner);
    return it == waiters_.end() ? nullptr : it->second.to;
}

waiter_registry::receiver waiter_registry::find(kind of, const owner_id& owner) const {
    base::guard lock(mutex_);
    const auto [first, end] = waiters_.equal_range(owner.str());
    const auto it = std::find_if(first, end, [&](const auto& one) { return one.second.key.of == of; });
    return it == end ? nullptr : it->second.to;
}

std::vector<waiter_registry::receiver> waiter_registry::all() const {
    base::guard lock(mutex_);
    std::vector<receiver> found;
    found.reserve(waiters_.size());
    for (const auto& [owner, one] : waiters_) found.push_back(one.to);
    return found;
}

std::vector<waiter_registry::receiver> waiter_registry::all_of(const lock_name& name,
                                                               const owner_id& except) const {
    base::guard lock(mutex_);
    std::vector<receiver> found;
    for (const auto& [owner, one] : waiters_) {
        if (one.key.name == name && owner != except.str()) found.push_back(one.to);
    }
    return found;
}

bool waiter_registry::empty() const {
    base::guard lock(mutex_);
    return waiters_.empty();
}

}  // namespace holdfast::backends
