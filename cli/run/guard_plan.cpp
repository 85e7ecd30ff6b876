#include "cli/run/guard_plan.hpp"

#include "cli/run/overloaded.hpp"

#include <algorithm>
#include <chrono>

namespace holdfast::cli {

namespace {

// The kernel does not report the end of processes that are not our children.
constexpr std::chrono::milliseconds between_looks{100};
// A look at /proc may miss processes that start meanwhile.
constexpr std::chrono::milliseconds between_kills{10};

}  // namespace

guard_action guard_plan::resume(const guard_event& what, time_point now) {
    guard_action todo;
    if (phase_ == phase::over) return todo;
    std::visit(overloaded{
                   [](const noticed&) {},
                   [&](const ordered& e) { carry_out(e.order, now, todo); },
                   [&](const link_broken&) { alone_ = true; },
                   [&](const command_ended&) {
                       ended_ = true;
                       // The command obeyed TERM; processes that it started may ignore it.
                       if (phase_ == phase::ending) kill(now, todo);
                   },
                   [&](const nobody_left&) {
                       if (!ends_the_command()) return;
                       phase_ = phase::clear;
                       todo.report_that_none_is_left = true;
                   },
               },
               what);
    if (!std::holds_alternative<command_ended>(what)) look(now, todo);
    return todo;
}

void guard_plan::carry_out(const guard_order& order, time_point now, guard_action& todo) {
    using task = guard_order::task;
    order_ = order;
    switch (order.what) {
        case task::watch:
        case task::look_on: break;
        case task::term:
            if (phase_ == phase::watching) begin(signal::term_others, now, todo);
            break;
        case task::kill:
            if (phase_ != phase::clear) kill(now, todo);
            break;
        case task::leave:
            phase_ = phase::over;
            todo.exit = true;
            break;
    }
}

void guard_plan::look(time_point now, guard_action& todo) {
    switch (phase_) {
        case phase::watching:
            if (order_.what == guard_order::task::look_on) {
                if (!alone_) return;
                phase_ = phase::over;
                todo.exit = true;
                return;
            }
            if (!alone_ && now < order_.term_by) {
                todo.look_again = order_.term_by;
                return;
            }
            todo.report_that_it_ends = true;
            begin(signal::term, now, todo);
            return;
        case phase::ending:
            if (now >= kill_at()) return kill(now, todo);
            todo.look_again = std::min(kill_at(), now + between_looks);
            return;
        case phase::killing: return kill(now, todo);
        case phase::clear:
            if (!alone_) return;
            phase_ = phase::over;
            todo.exit = true;
            return;
        case phase::over: return;
    }
}

void guard_plan::begin(signal term, time_point now, guard_action& todo) {
    term_at_ = now;
    if (now >= kill_at()) return kill(now, todo);
    phase_ = phase::ending;
    todo.send = term;
    todo.kill_at = kill_at();
    todo.look_again = std::min(kill_at(), now + between_looks);
    // The command has ended already: processes that it left behind get KILL at once.
    if (ended_) kill(now, todo);
}

// As supervisor::kill_at(): the grace runs from the first TERM, and only the end of the lease, as known now,
// cuts it short.
guard_plan::time_point guard_plan::kill_at() const noexcept {
    return std::min(term_at_ + order_.grace, order_.kill_by);
}

void guard_plan::kill(time_point now, guard_action& todo) {
    phase_ = phase::killing;
    todo.send = signal::kill;
    todo.look_again = now + between_kills;
}

}  // namespace holdfast::cli
