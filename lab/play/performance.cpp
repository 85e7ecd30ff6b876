#include "lab/play/performance.hpp"

#include "lab/play/protocol.hpp"
#include "lab/schemes/schemes.hpp"

#include <holdfast/error.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::lab {

namespace {

// The scheme's source shows the script; here it would hide the rest.
std::string for_people(const std::string& word) {
    if (word.find('\n') != word.npos) return "<script>";
    return word.find(' ') == word.npos ? word : '"' + word + '"';
}

// The director is gone, or has no more orders.
struct over {};

class reporting_performer final : public performer {
  public:
    explicit reporting_performer(part own)
        : part_(std::move(own)), servers_(part_.sockets.size()), resource_(part_.resource) {}

    const part& own_part() const override { return part_; }

    reply send(std::size_t server, const arguments& command) override {
        auto& link = servers_.at(server);
        return reported(place_of(server), command, &last_answer_, [&] {
            try {
                return connected(link, server).send(command);
            } catch (const connection_broken&) {
                link.reset();
                throw;
            }
        });
    }

    reply send_aside(const arguments& command) override {
        return reported(place_of(0), command, nullptr, [&] { return connected(aside_, 0).send(command); });
    }

    reply send_to_resource(const arguments& command) override {
        return reported(
            {}, command, nullptr, [&] { return resource_.send(command); }, report::kind::write);
    }

    sql_answer ask_table(const std::string& statement, const std::vector<std::string>& values) override {
        if (!table_) table_.emplace(part_.table);
        auto answer = table_->run(statement, values);
        last_answer_ = report_command(answer.sent, answer.columns.empty()
                                                       ? fmt::format("rows: {}", answer.rows)
                                                       : fmt::format("{}", fmt::join(answer.columns, ", ")));
        return answer;
    }

    void listen_to(const std::string& channel) override {
        const arguments command{"SUBSCRIBE", channel};
        reported({}, command, nullptr, [&] { return connected(subscription_, 0).send(command); });
    }

    void wait_for_message(std::chrono::milliseconds at_most) override {
        const auto end = boot_clock::now() + at_most;
        try {
            if (subscription_ && subscription_->receive(at_most)) return say("a message came");
        } catch (const command_failed& why) {
            // A real library subscribes again; a message sent meanwhile is lost.
            subscription_.reset();
            say(fmt::format("its subscription is broken: {}", why.what()));
        }
        std::this_thread::sleep_until(end);
        say("no message came in time");
    }

    void stop(std::string_view at) override {
        const bool passes = at != target_ && (point::is_common(target_) || !point::is_common(at)) &&
                            at != point::ready && at != point::done && at != point::failed &&
                            at != point::too_late;
        if (passes) return;
        write_report({.what = report::kind::stop, .at = boot_clock::now(), .text = std::string{at}});
        constexpr std::string_view order = "run ";
        std::string line;
        if (!std::getline(std::cin, line) || !line.starts_with(order)) throw over{};
        target_ = line.substr(order.size());
        last_answer_ = boot_clock::now();  // its next belief begins no earlier
    }

    void say(const std::string& text) override {
        write_report({.what = report::kind::says, .at = boot_clock::now(), .text = text});
    }

    void write_report(const report& seen) {
        const std::lock_guard hold{out_};  // the watchdog of a scheme reports too
        fmt::print("{}\n", to_line(seen));
        std::fflush(stdout);
    }

    // When a server that has the lock last replied, or failed to.
    [[nodiscard]] std::optional<boot_clock::time_point> last_answer() const { return last_answer_; }

  private:
    connection& connected(std::optional<connection>& link, std::size_t server) {
        if (!link) link.emplace(part_.sockets.at(server), part_.password);
        return *link;
    }

    // The server's number, if there are several.
    std::string place_of(std::size_t server) const {
        return servers_.size() > 1 ? fmt::format("{}: ", server + 1) : "";
    }

    template <class Send>
    reply reported(const std::string& where, const arguments& command,
                   std::optional<boot_clock::time_point>* answered, Send how,
                   report::kind what = report::kind::command) {
        std::string text = where;
        for (std::size_t i = 0; i < command.size(); ++i) text += (i > 0 ? " " : "") + for_people(command[i]);
        try {
            auto answer = how();
            const auto at = report_command(text, answer.shown(), what);
            if (answered != nullptr) *answered = at;
            return answer;
        } catch (const command_failed& why) {
            const auto at = report_command(text, why.what(), what);
            if (answered != nullptr) *answered = at;
            throw;
        }
    }

    boot_clock::time_point report_command(const std::string& text, const std::string& answer,
                                          report::kind what = report::kind::command) {
        const auto now = boot_clock::now();
        write_report({.what = what, .at = now, .text = text, .reply = answer});
        return now;
    }

    part part_;
    std::vector<std::optional<connection>> servers_;
    connection resource_;
    std::optional<connection> aside_;
    std::optional<connection> subscription_;
    std::optional<database> table_;
    std::optional<boot_clock::time_point> last_answer_;
    std::string target_{point::ready};
    std::mutex out_;
};

// The same for every scheme.
class performance {
  public:
    performance(reporting_performer& by, scheme& how) : by_(by), how_(how) {}

    void run() {
        by_.stop(point::ready);
        try {
            how_.lock();
            // A scheme that knows when its lock ends is a library; its commands are not visible here.
            const bool seen = by_.last_answer() && !how_.holds_until();
            report_belief(report::kind::believes, seen ? *by_.last_answer() : boot_clock::now());
            by_.stop(point::in_cs);
            if (by_.own_part().nested) enter_again();
            work();
            by_.stop("before_unlock");
            leave();
            how_.unlock();
        } catch (const error& why) {
            give_up(why, why.code() == errc::lease_too_short ? point::too_late : point::failed);
        } catch (const std::exception& why) {
            give_up(why, point::failed);
        }
        by_.stop(point::done);
    }

  private:
    void give_up(const std::exception& why, std::string_view at) {
        leave();
        by_.say(fmt::format("gives up: {}", why.what()));
        how_.unwind();
        by_.stop(at);
    }

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
                             : "is refused by the resource: a newer fence came first");
    }

    // The belief ends before the first command of unlock().
    void leave() {
        if (std::exchange(left_, true)) return;
        report_belief(report::kind::believes_no_more, boot_clock::now());
    }

    void report_belief(report::kind what, boot_clock::time_point at) {
        by_.write_report({.what = what, .at = at, .text = {}, .reply = {}, .until = how_.holds_until()});
    }

    reporting_performer& by_;
    scheme& how_;
    bool left_ = false;
};

// The kernel checks this limit whenever the stack grows, so it holds at once. A process that dies of it on
// purpose leaves no core.
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
    auto given = part_from(line);
    std::filesystem::current_path(given.folder);
    reporting_performer hand{std::move(given)};
    const auto& own = hand.own_part();
    if (own.stack != 0) limit_stack(own.stack);
    const auto* const how = find_scheme(own.scheme);
    if (how == nullptr) throw std::invalid_argument(fmt::format("there is no scheme {}", own.scheme));
    const auto made = how->make(hand);
    try {
        performance{hand, *made}.run();
    } catch (const over&) {
    }
    return 0;
}

}  // namespace holdfast::lab
