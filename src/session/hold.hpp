// A lease object points to a hold: one hold of a user, on one lock or on several at once.
#pragma once

#include "base/annotations.hpp"
#include "session/held_lease.hpp"

#include <holdfast/callback.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::session {

class client_lock;

// As thread-safe as lease.hpp says.
class hold : public std::enable_shared_from_this<hold> {
  public:
    hold() = default;
    hold(const hold&) = delete;
    hold& operator=(const hold&) = delete;
    virtual ~hold() = default;

    [[nodiscard]] virtual bool valid() const noexcept = 0;
    [[nodiscard]] virtual time_point deadline() const noexcept = 0;
    [[nodiscard]] virtual lease_state state() const noexcept = 0;
    [[nodiscard]] virtual std::stop_token lost_token() = 0;
    [[nodiscard]] virtual holdfast::fence fence() const noexcept = 0;
    [[nodiscard]] virtual holdfast::strength strength() const noexcept = 0;
    [[nodiscard]] virtual std::string store() const = 0;  // see lease::store()
    [[nodiscard]] virtual const owner_id& owner() const noexcept = 0;
    [[nodiscard]] virtual std::uint32_t acks() const noexcept = 0;

    // Blocks for a round trip. True: the store says that it is held, and has renewed it.
    virtual bool renew() = 0;
    // Blocks for a round trip. A second call returns the first result again.
    virtual release_result release() noexcept = 0;
    // The same without a waiting thread.
    virtual void release_later(callback<void(release_result)> done) = 0;

    bool unattended = false;  // acquired without a thread: the destructor of its lease does not block
};

// A hold on one lock. Several share a held_lease after re-entry.
class hold_of_one final : public hold {
  public:
    hold_of_one(std::shared_ptr<client_lock> c, std::shared_ptr<held_lease> t)
        : in(std::move(c)), of(std::move(t)) {}

    [[nodiscard]] bool valid() const noexcept override {
        return how_ended() == ended::not_yet && of->valid();
    }
    [[nodiscard]] time_point deadline() const noexcept override { return of->deadline(); }
    [[nodiscard]] lease_state state() const noexcept override;
    [[nodiscard]] std::stop_token lost_token() override { return of->lost_token(); }
    [[nodiscard]] holdfast::fence fence() const noexcept override { return of->fence; }
    [[nodiscard]] holdfast::strength strength() const noexcept override;
    [[nodiscard]] std::string store() const override;
    [[nodiscard]] const owner_id& owner() const noexcept override { return of->owner; }
    [[nodiscard]] std::uint32_t acks() const noexcept override { return of->acks; }
    bool renew() override;
    release_result release() noexcept override;
    void release_later(callback<void(release_result)> done) override;

    // Once it was released; for the thread that releases it (lease.hpp, thread safety).
    [[nodiscard]] const std::optional<release_result>& result() const noexcept { return result_; }
    void end(release_result how) noexcept {
        result_ = std::move(how);
        ended_.store(*result_ == release_outcome::already_lost ? ended::lost : ended::released,
                     std::memory_order_release);
    }

    const std::shared_ptr<client_lock> in;
    const std::shared_ptr<held_lease> of;

  private:
    // What other threads see of the result.
    enum class ended : std::uint8_t { not_yet, released, lost };
    [[nodiscard]] ended how_ended() const noexcept { return ended_.load(std::memory_order_acquire); }

    std::optional<release_result> result_;
    std::atomic<ended> ended_{ended::not_yet};
};

// A hold on several locks: it is lost when one of them is.
class hold_of_all final : public hold {
  public:
    using holds = std::vector<std::shared_ptr<hold>>;

    // In the order of acquisition; at least one.
    explicit hold_of_all(holds parts) : parts_(std::move(parts)) {}

    [[nodiscard]] bool valid() const noexcept override;
    [[nodiscard]] time_point deadline() const noexcept override;
    [[nodiscard]] lease_state state() const noexcept override;
    [[nodiscard]] std::stop_token lost_token() override;
    [[nodiscard]] holdfast::fence fence() const noexcept override { return holdfast::fence::none; }
    [[nodiscard]] holdfast::strength strength() const noexcept override;
    [[nodiscard]] std::string store() const override;
    [[nodiscard]] const owner_id& owner() const noexcept override;
    [[nodiscard]] std::uint32_t acks() const noexcept override;
    bool renew() override;
    release_result release() noexcept override;
    void release_later(callback<void(release_result)> done) override;

    [[nodiscard]] const holds& parts() const noexcept { return parts_; }

  private:
    struct stop {
        std::stop_source all;
        void operator()() { all.request_stop(); }
    };

    const holds parts_;
    base::mutex mutex_;
    std::stop_source lost_ GUARDED_BY(mutex_){std::nostopstate};  // made on the first call of lost_token()
    std::deque<std::stop_callback<stop>> callbacks_ GUARDED_BY(mutex_);
};

// The result that is true of both releases together.
[[nodiscard]] release_result worse_of(const release_result& one, const release_result& other) noexcept;

}  // namespace holdfast::session
