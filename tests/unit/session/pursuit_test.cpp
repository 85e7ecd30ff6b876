// An acquisition between the threads that tell it something, with a store that says when.
#include "session/cell.hpp"
#include "session/core.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace holdfast::session {
namespace {

using namespace std::chrono_literals;
using namespace backend;

// Hands the lock over in the midst of the second question, and then lets the time of that grant pass before
// the asker goes on, as where a process is stopped. Grants it when it is asked once more.
class halting final : public store {
  public:
    static constexpr milliseconds handed = 20ms;
    int asked = 0;

    const capabilities& has() const noexcept override {
        static constexpr capabilities ours{.name = "halting", .hands_over = true};
        return ours;
    }
    traffic seen() const noexcept override { return {}; }
    owner_id new_owner(kind, std::uint32_t) override { return owner_id{"me|1"}; }
    void attempt(const attempt_request&, time_point, handler<attempt_answer> done) override {
        switch (++asked) {
            case 1: return done(busy{"other", {}, {}, {}});
            case 2: {
                const auto sent = boot_clock::now();
                done(busy{"other", {}, "ticket", handed});
                tell_({watch_event::change::woken, {"ticket"}});
                while (boot_clock::now() < sent + 2 * handed) {
                }
                return;
            }
            default: return done(granted{fence::none, false});
        }
    }
    std::unique_ptr<watch_handle> watch(const lock_key&, const owner_id&,
                                        handler<watch_event> tell) override {
        tell_ = std::move(tell);
        tell_({watch_event::change::watching, {}});
        return std::make_unique<watch_handle>();
    }
    void renew(std::span<const renew_request> all, time_point,
               handler<std::vector<renew_answer>> done) override {
        done(std::vector<renew_answer>(all.size(), renew_answer::renewed));
    }
    void release(const release_request&, time_point, handler<release_answer> done) override {
        done(released{});
    }
    void adjust(const adjust_request&, time_point, handler<adjust_answer>) override {}
    void inspect(const lock_name&, time_point, handler<result<lock_info>>) override {}
    void list(const std::string&, time_point, handler<result<std::vector<lock_info>>>) override {}
    void evict(const lock_name&, time_point, handler<result<bool>>) override {}
    void lend(parker& me, time_point until) override { me.park_until(until); }
    void abandon() noexcept override {}

  private:
    handler<watch_event> tell_;
};

TEST(a_pursuit, believes_no_grant_that_was_over_before_it_looked) {
    halting* at = nullptr;
    const auto client = core::open({}, [&](core&) {
        auto made = std::make_unique<halting>();
        at = made.get();
        return made;
    });
    const auto lock = std::make_shared<cell>(client, lock_key{kind::native, lock_name{"stock"}});
    auto got = lock->acquire({.give_up_at = boot_clock::now() + 1min});
    auto* const held = std::get_if<std::shared_ptr<hold>>(&got);
    ASSERT_NE(held, nullptr);
    EXPECT_EQ(at->asked, 3) << "a grant of the past was returned";
    (*held)->release();
    client->close();
}

}  // namespace
}  // namespace holdfast::session
