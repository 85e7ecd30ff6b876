#include "lab/performance.hpp"

#include "lab/protocol.hpp"
#include "lab/schemes/schemes.hpp"

#include <holdfast/error.hpp>

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace holdfast::lab {

namespace {

// A script stands in the scheme's source; here it would hide the rest.
std::string for_people(const std::string& word) {
    if (word.find('\n') != word.npos) return "<script>";
    return word.find(' ') == word.npos ? word : '"' + word + '"';
}

// The director is gone, or wants no more of this process.
struct over {};

class stage_hand final : public performer {
  public:
    explicit stage_hand(part told)
        : part_(std::move(told)), main_(part_.socket, part_.password), resource_(part_.resource) {}

    const part& own_part() const override { return part_; }

    reply send(const words& command) override { return reported(main_, command); }

    reply send_aside(const words& command) override {
        if (!aside_) aside_.emplace(part_.socket, part_.password);
        return reported(*aside_, command);
    }

    reply send_to_resource(const words& command) override { return reported(resource_, command); }

    void stop(std::string_view at) override {
        const bool passes = at != target_ && (point::is_common(target_) || !point::is_common(at)) &&
                            at != point::ready && at != point::done && at != point::failed;
        if (passes) return;
        tell({.what = report::kind::stop, .at = boot_clock::now(), .text = std::string{at}});
        constexpr std::string_view order = "run ";
        std::string line;
        if (!std::getline(std::cin, line) || !line.starts_with(order)) throw over{};
        target_ = line.substr(order.size());
    }

    void say(const std::string& text) override {
        tell({.what = report::kind::says, .at = boot_clock::now(), .text = text});
    }

    void tell(const report& seen) {
        const std::lock_guard hold{out_};  // the watchdog of a scheme reports too
        fmt::print("{}\n", to_line(seen));
        std::fflush(stdout);
    }

  private:
    reply reported(connection& on, const words& command) {
        const auto told = [&](const std::string& answer) {
            std::string text;
            for (const auto& one : command) text += (text.empty() ? "" : " ") + for_people(one);
            tell({.what = report::kind::command, .at = boot_clock::now(), .text = text, .reply = answer});
        };
        try {
            auto answer = on.send(command);
            told(answer.shown());
            return answer;
        } catch (const command_failed& why) {
            told(why.what());
            throw;
        }
    }

    part part_;
    connection main_;
    connection resource_;
    std::optional<connection> aside_;
    std::string target_{point::ready};
    std::mutex out_;
};

// The same for every scheme.
class performance {
  public:
    performance(stage_hand& by, scheme& how) : by_(by), how_(how) {}

    void run() {
        by_.stop(point::ready);
        try {
            how_.lock();
            tell_belief(report::kind::believes);
            by_.stop(point::in_cs);
            if (by_.own_part().nested) enter_again();
            work();
            leave();
            how_.unlock();
        } catch (const std::exception& why) {
            leave();
            by_.say(fmt::format("gives up: {}", why.what()));
            how_.unwind();
            by_.stop(point::failed);
        }
        by_.stop(point::done);
    }

  private:
    void enter_again() {
        how_.lock();
        by_.stop(point::nested);
        how_.unlock();
    }

    void work() {
        if (const auto until = how_.holds_until(); until && boot_clock::now() >= *until) {
            leave();
            by_.say("sees that its lease has ended, and does not write");
            return;
        }
        by_.stop("before_write");
        by_.say(how_.write() ? "writes to the resource"
                             : "is refused by the resource: a newer fence was there");
    }

    // The belief ends before the first command of unlock().
    void leave() {
        if (std::exchange(left_, true)) return;
        tell_belief(report::kind::believes_no_more);
    }

    void tell_belief(report::kind what) {
        by_.tell(
            {.what = what, .at = boot_clock::now(), .text = {}, .reply = {}, .until = how_.holds_until()});
    }

    stage_hand& by_;
    scheme& how_;
    bool left_ = false;
};

// The kernel asks at every growth of the stack how far it may grow, so this holds at once. And a process that
// is to die of it need not leave a core.
void limit_stack(std::size_t bytes) {
    rlimit limit{};
    ::getrlimit(RLIMIT_STACK, &limit);
    limit.rlim_cur = std::min<rlim_t>(bytes, limit.rlim_max);
    ::setrlimit(RLIMIT_STACK, &limit);
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
}

}  // namespace

int perform() {
    std::string line;
    if (!std::getline(std::cin, line)) return 0;
    stage_hand hand{part_from(line)};
    const auto& told = hand.own_part();
    if (told.stack != 0) limit_stack(told.stack);
    const auto* const how = find_scheme(told.scheme);
    if (how == nullptr) throw std::invalid_argument(fmt::format("there is no scheme {}", told.scheme));
    const auto made = how->make(hand);
    try {
        performance{hand, *made}.run();
    } catch (const over&) {
    }
    return 0;
}

}  // namespace holdfast::lab
