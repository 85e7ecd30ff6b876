// Acquisitions and releases without a waiting thread: the reactor drives them, many at a time.
#pragma once

#include "engine/release.hpp"
#include "io/reactor.hpp"
#include "session/core.hpp"
#include "session/pursuit.hpp"

#include <holdfast/callback.hpp>

#include <atomic>
#include <memory>
#include <optional>

namespace holdfast::session {

// Keeps itself alive until it has called `done`, on the reactor thread.
class background_acquire final : public under_way, public std::enable_shared_from_this<background_acquire> {
  public:
    static std::shared_ptr<background_acquire> begin(std::shared_ptr<cell> of, const acquisition& how,
                                                     callback<void(cell::outcome)> done);
    void cancel() override { way_->cancel(); }

  private:
    struct on_stop {
        background_acquire* of;
        void operator()() const { of->cancel(); }
    };
    background_acquire(const std::shared_ptr<cell>& of, callback<void(cell::outcome)> done);

    void poke();
    void drive();

    core& core_;
    std::optional<core::call> here_;
    callback<void(cell::outcome)> done_;
    std::atomic<bool> poked_{false};
    std::optional<pursuit> way_;
    std::optional<std::stop_callback<on_stop>> on_stop_;
    std::shared_ptr<background_acquire> me_;  // until it has ended
    io::timer_id timer_;                      // reactor thread
    time_point timer_at_ = time_point::max();
};

// Sends the release of a lease, as often as engine::release decides. The caller has called
// core::begin_errand. If the client ends before the store has answered, `done` gets unknown_until.
class background_release : public std::enable_shared_from_this<background_release> {
  public:
    static void begin(std::shared_ptr<cell> of, std::shared_ptr<tenancy> t,
                      callback<void(release_result)> done);
    // First asks whether the store still has the lease: then the lock may go to the next thread instead.
    static void ask_and_begin(std::shared_ptr<cell> of, std::shared_ptr<tenancy> t,
                              callback<void(release_result)> done);
    background_release(std::shared_ptr<cell> of, std::shared_ptr<tenancy> t,
                       callback<void(release_result)> done);
    background_release(const background_release&) = delete;
    background_release& operator=(const background_release&) = delete;
    ~background_release();

  private:
    void ask_first();
    void send();
    void obey(engine::release_action action);
    void finish(release_result r);

    const std::shared_ptr<cell> cell_;
    core& core_;
    const std::shared_ptr<tenancy> of_;
    std::optional<engine::release> machine_;  // set once the release is sent
    callback<void(release_result)> done_;
    bool ended_ = false;
};

}  // namespace holdfast::session
