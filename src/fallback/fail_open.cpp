#include "fallback/fail_open.hpp"

#include "base/store_place.hpp"
#include "fallback/fail_open_core.hpp"
#include "store/counters.hpp"
#include "store/inspection.hpp"

#include <memory>
#include <string>
#include <utility>

namespace holdfast::fallback {

namespace {

std::string_view why_not(kind k) {
    switch (k) {
        case kind::native:
        case kind::recursive:
        case kind::shared_read:
        case kind::shared_write: return {};
        case kind::native_fenced:
        case kind::recursive_fenced:
            return "a lock whose policy fails open has no fences: those of its substitute would not follow "
                   "those of the store";
        case kind::fair:
            return "a lock whose policy fails open keeps no order among machines; use a mutex, or "
                   "fail_closed";
        case kind::semaphore:
        case kind::permit_semaphore:
            return "a semaphore cannot fail open: its substitute does not know how many permits are taken";
        case kind::latch: return "a latch cannot fail open: its substitute does not know the count";
    }
    return {};
}

class fail_open_store final : public fail_open {
  public:
    fail_open_store(fail_open_tools with, config settings)
        : fail_open(with.main), settings_there_(std::move(settings)) {
        const auto made = std::make_shared<link>();
        auto substitute =
            with.open({with.given.reactor, settings_there_, with.given.id, [made](const notice& n) {
                           const auto to = [&] {
                               const base::guard lock(made->mutex);
                               return made->to.lock();
                           }();
                           if (to) to->on_request_to_give_up(n);
                       }});
        has_ = with.main.has();
        has_.downgrades = has_.downgrades && substitute->has().downgrades;
        has_.in_two_places = true;
        core_ = std::make_shared<fail_open_core>(std::move(with), std::move(substitute));
        const base::guard lock(made->mutex);
        made->to = core_;
    }
    ~fail_open_store() override { core_->close(); }

    const capabilities& has() const noexcept override { return has_; }
    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        core_->attempt(r, deadline, std::move(done));
    }
    void renew(std::span<const renew_request> all, time_point deadline,
               handler<std::vector<renew_answer>> done) override {
        core_->renew(all, deadline, std::move(done));
    }
    void release(const release_request& r, time_point deadline, handler<release_answer> done) override {
        core_->release(r, deadline, std::move(done));
    }
    std::unique_ptr<watch_handle> watch(const lock_key& key, const owner_id& owner,
                                        handler<watch_event> on_event) override {
        return core_->watch(key, owner, std::move(on_event));
    }
    bool has_pending() const noexcept override { return core_->substitute().has_pending(); }
    void leave_by(time_point until) noexcept override { core_->substitute().leave_by(until); }
    void release_later(const lock_key&, const owner_id&) noexcept override {}
    milliseconds session_timeout() const noexcept override { return milliseconds{0}; }
    std::string_view unsupported(kind k) const noexcept override {
        const auto no = why_not(k);
        return no.empty() ? to().unsupported(k) : no;
    }
    void abandon() noexcept override { core_->abandon(); }
    void main_is_up() override { core_->main_is_up(); }
    [[nodiscard]] strength strength_there() const noexcept { return core_->substitute().has().guarantee; }

  private:
    struct link {
        base::mutex mutex;
        std::weak_ptr<fail_open_core> to GUARDED_BY(mutex);
    };
    const config settings_there_;
    capabilities has_;
    std::shared_ptr<fail_open_core> core_;
};

}  // namespace

std::unique_ptr<fail_open> open_fail_open(fail_open_tools with) {
    const auto& main = with.main.has();
    if (main.votes || main.ends != lease_end::by_time || main.guarantee < strength::single)
        throw error(errc::invalid_argument, "the policy \"" + with.how.name +
                                                "\" fails open, which is for Redis (one server, Sentinel or "
                                                "Cluster) and SQL databases on a server");
    auto settings = with.given.settings;
    const bool of_process = with.how.outage == on_outage::fail_open_process;
    // Locks of different servers are different locks.
    settings.url =
        of_process ? "local:fail-open " + base::store_place(settings.url) : substitute_of(with.how);
    const auto name = with.how.name;
    auto made = std::make_unique<fail_open_store>(std::move(with), std::move(settings));
    if (!of_process && made->strength_there() != strength::host_local)
        throw error(errc::invalid_argument,
                    "the substitute of the policy \"" + name +
                        "\" must be a store of this machine: file:DIR or sqlite:PATH");
    return made;
}

}  // namespace holdfast::fallback
