// A command that `run` supervises, in virtual time.
#pragma once

#include "cli/output/exit_codes.hpp"
#include "cli/run/supervisor.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace holdfast::cli {

using namespace std::chrono_literals;

// A command under a lease of 10 s with 2 s of grace; KILL is due 500 ms before the end. The test renews the
// lease and moves the clock.
class SupervisorTest : public testing::Test {
  protected:
    static constexpr supervision usual{
        .policy = on_loss::term, .grace = 2s, .margin = 500ms, .max_hold = {}, .at_least = 0s};

    void under(const supervision& rules) {
        watch_ = supervisor{rules, now_};
        renew();
    }
    void renew() { lease_ = {.valid = true, .jeopardy = false, .deadline = now_ + 10s}; }
    void renew_once() {
        (void)after(1s);
        renew();
        (void)on_event(looked{});
    }
    void rest_after(int code) {
        auto rules = usual;
        rules.at_least = 20s;
        under(rules);
        ASSERT_FALSE(on_event(ended{code, now_}).release);
    }
    void renewal_fails() { lease_.jeopardy = true; }
    void lose() { lease_.valid = false; }

    run_action on_event(const run_event& what) { return watch_.resume(what, lease_, now_); }
    run_action after(boot_clock::duration d) {
        now_ += d;
        if (now_ >= lease_.deadline) lease_.valid = false;
        return on_event(looked{});
    }

    const boot_clock::time_point start_{1000s};
    boot_clock::time_point now_ = start_;
    lease_view lease_{.valid = true, .jeopardy = false, .deadline = now_ + 10s};
    supervisor watch_{usual, now_};
};

}  // namespace holdfast::cli
