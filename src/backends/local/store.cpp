#include "backends/local/store.hpp"

#include "backends/common/owner_serials.hpp"
#include "backends/local/space.hpp"
#include "base/clock.hpp"
#include "base/parker.hpp"
#include "base/random.hpp"
#include "engine/kinds.hpp"
#include "store/counters.hpp"
#include "store/inspection.hpp"

#include <atomic>
#include <optional>
#include <string_view>
#include <utility>

namespace holdfast::local_backend {

namespace {

using namespace backend;

constexpr capabilities what_we_have{.guarantee = strength::process_local,
                                    .counted_by = lease_clock::of_this_host,
                                    .fences_per_grant = space::fences_per_grant};

// Each request is answered before the call returns, so there is no I/O to lend a thread to.
class local_store final : public store, public counters, public inspection, public linearizable_register {
  public:
    explicit local_store(const backends::services& given)
        : id_(given.id.base64url()),
          space_(space::named(given.settings.url.substr(6))),
          member_(
              std::in_place, space_,
              [notify = given.notify](const owner_id& owner, std::function<void()> confirm) {
                  notify({.what = notice::change::evicted, .owner = owner, .confirm = std::move(confirm)});
              }) {}

    const capabilities& has() const noexcept override { return what_we_have; }
    traffic statistics() const noexcept override { return {requests_.load(std::memory_order_relaxed), {}}; }
    owner_id new_owner(kind k, std::uint32_t) override {
        // Here too a permit has an id that can be passed to others.
        if (k == kind::permit_semaphore) return owner_id{base::client_id::make().hex()};
        return owner_id{id_ + '|' + std::to_string(serials_.next())};
    }

    void attempt(const attempt_request& r, time_point, handler<attempt_answer> done) override {
        count();
        done(space_->attempt(r));
    }
    void renew(std::span<const renew_request> all, time_point,
               handler<std::vector<renew_answer>> done) override {
        count();
        std::vector<renew_answer> answers;
        answers.reserve(all.size());
        for (const auto& r : all) answers.push_back(space_->renew(r));
        done(std::move(answers));
    }
    void release(const release_request& r, time_point, handler<release_answer> done) override {
        count();
        done(space_->release(r));
    }
    void adjust(const adjust_request& r, time_point, handler<adjust_answer> done) override {
        count();
        done(space_->adjust(r));
    }
    std::unique_ptr<watch_handle> watch(const lock_key& key, const owner_id& owner,
                                        handler<watch_event> on_event) override {
        return space_->watch(key, owner, std::make_shared<watch_handler>(std::move(on_event)));
    }
    void inspect(const lock_name& name, holders_shown, time_point, handler<result<lock_info>> done) override {
        done(space_->inspect(name));
    }
    void list(const std::string& glob, listed, time_point,
              handler<result<std::vector<lock_info>>> done) override {
        done(space_->list(glob));
    }
    void ask_to_give_up(const lock_name& name, const holder_info& of, time_point,
                        handler<result<asked>> done) override {
        done(space_->ask_to_give_up(name, of));
    }
    void evict(const lock_name& name, const std::vector<std::string>& owners, time_point,
               handler<result<std::vector<evicted>>> done) override {
        done(space_->evict(name, owners));
    }
    // Waiters end with their process, so no queue has dead ones.
    void clear_line(const lock_name&, const std::vector<std::string>&, time_point,
                    handler<result<std::vector<std::string>>> done) override {
        done(std::vector<std::string>{});
    }
    bool hear_requests_for(const lock_name&) override { return true; }
    void examine(const examine_request&, time_point, handler<result<examination>> done) override {
        done(examination{{},
                         {{"nothing-to-examine", severity::ok, "local",
                           "this store has no server that could be examined", "", "", promise::none}}});
    }
    void read(std::string_view name, const register_value&, time_point,
              handler<result<register_value>> done) override {
        count();
        done(space_->read_register(name));
    }
    void change(std::string_view name, std::uint64_t expected, std::string_view text, time_point,
                handler<result<register_value>> done) override {
        count();
        done(space_->change_register(name, expected, text));
    }
    // Another client's evict takes it.
    bool taken_by_force(kind k) const noexcept override { return engine::rules_of(k).reentrant; }
    void run_io(base::parker& me, time_point until) override { me.park_until(until); }
    void abandon() noexcept override {}
    counters* as_counters() noexcept override { return this; }
    inspection* as_inspection() noexcept override { return this; }
    linearizable_register* as_register() noexcept override { return this; }

  private:
    void count() { requests_.fetch_add(1, std::memory_order_relaxed); }

    const std::string id_;
    const std::shared_ptr<space> space_;
    std::optional<space::member> member_;
    backends::owner_serials serials_;
    std::atomic<std::uint64_t> requests_{0};
};

}  // namespace

std::unique_ptr<store> open(const backends::services& given) { return std::make_unique<local_store>(given); }

}  // namespace holdfast::local_backend
