// Acquisitions and releases without a waiting thread: the reactor advances them, many at a time.
#pragma once

#include "engine/release.hpp"
#include "io/reactor.hpp"
#include "session/acquire_operation.hpp"
#include "session/client_state.hpp"

#include <holdfast/callback.hpp>

#include <atomic>
#include <memory>
#include <optional>

namespace holdfast::session {

// Keeps itself alive until it has called `done`, on the reactor thread.
class async_acquire final : public under_way, public std::enable_shared_from_this<async_acquire> {
  public:
    static std::shared_ptr<async_acquire> begin(std::shared_ptr<client_lock> of, const acquisition& how,
                                                callback<void(client_lock::outcome)> done);
    void cancel() override { operation_->cancel(); }

  private:
    struct on_stop {
        async_acquire* of;
        void operator()() const { of->cancel(); }
    };
    async_acquire(const std::shared_ptr<client_lock>& of, callback<void(client_lock::outcome)> done);

    void poke();
    void advance();

    client_state& client_;
    std::optional<client_state::call> here_;
    callback<void(client_lock::outcome)> done_;
    std::atomic<bool> poked_{false};
    std::optional<acquire_operation> operation_;
    std::optional<std::stop_callback<on_stop>> on_stop_;
    std::shared_ptr<async_acquire> me_;  // until it has ended
    io::timer_id timer_;                 // reactor thread
    time_point timer_at_ = time_point::max();
};

// Sends the release of a lease, as often as engine::release decides. The caller has called
// client_state::begin_pending. If the client ends before the store has answered, `done` gets unknown_until.
class async_release : public std::enable_shared_from_this<async_release> {
  public:
    static void begin(const std::shared_ptr<client_lock>& of, const std::shared_ptr<held_lease>& t,
                      callback<void(release_result)> done);
    // First asks whether the store still has the lease: then the lock may go to the next thread instead.
    static void confirm_and_begin(const std::shared_ptr<client_lock>& of,
                                  const std::shared_ptr<held_lease>& t, callback<void(release_result)> done);
    async_release(std::shared_ptr<client_lock> of, std::shared_ptr<held_lease> t,
                  callback<void(release_result)> done);
    async_release(const async_release&) = delete;
    async_release& operator=(const async_release&) = delete;
    ~async_release();

  private:
    static void start(const std::shared_ptr<client_lock>& of, const std::shared_ptr<held_lease>& t,
                      callback<void(release_result)> done, void (async_release::*first)());
    void ask_first();
    void send();
    void carry_out(engine::release_action action);
    void finish(release_result r);

    const std::shared_ptr<client_lock> lock_;
    client_state& client_;
    const std::shared_ptr<held_lease> of_;
    std::optional<engine::release> machine_;  // set once the release is sent
    callback<void(release_result)> done_;
    bool ended_ = false;
};

}  // namespace holdfast::session
