// A store that passes everything on to another one. What is built on it overrides what it does otherwise.
#pragma once

#include "store/store.hpp"

#include <utility>

namespace holdfast::backend {

// Optional interfaces are not passed on: who knows the other store can ask it.
class forwarding_store : public store {
  public:
    explicit forwarding_store(store& to) : to_(to) {}  // outlives this one

    const capabilities& has() const noexcept override { return to_.has(); }
    traffic statistics() const noexcept override { return to_.statistics(); }
    owner_id new_owner(kind k, std::uint32_t permits) override { return to_.new_owner(k, permits); }
    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        to_.attempt(r, deadline, std::move(done));
    }
    void renew(std::span<const renew_request> all, time_point deadline,
               handler<std::vector<renew_answer>> done) override {
        to_.renew(all, deadline, std::move(done));
    }
    void release(const release_request& r, time_point deadline, handler<release_answer> done) override {
        to_.release(r, deadline, std::move(done));
    }
    void release_later(const lock_key& key, const owner_id& owner) noexcept override {
        to_.release_later(key, owner);
    }
    std::unique_ptr<watch_handle> watch(const lock_key& key, const owner_id& owner,
                                        handler<watch_event> on_event) override {
        return to_.watch(key, owner, std::move(on_event));
    }
    void run_io(base::parker& me, time_point until) override { to_.run_io(me, until); }
    milliseconds session_timeout() const noexcept override { return to_.session_timeout(); }
    bool wakes_all(kind k) const noexcept override { return to_.wakes_all(k); }
    bool taken_by_force(kind k) const noexcept override { return to_.taken_by_force(k); }
    std::uint32_t shard_of(const lock_key& key) const override { return to_.shard_of(key); }
    std::string server_of(const lock_key& key) const override { return to_.server_of(key); }
    std::string_view unsupported(kind k) const noexcept override { return to_.unsupported(k); }
    std::string_view reserved_for(const lock_name& name) const override { return to_.reserved_for(name); }
    bool has_pending() const noexcept override { return to_.has_pending(); }
    void leave_by(time_point until) noexcept override { to_.leave_by(until); }
    void abandon() noexcept override { to_.abandon(); }

  protected:
    [[nodiscard]] store& to() const noexcept { return to_; }

  private:
    store& to_;
};

}  // namespace holdfast::backend
