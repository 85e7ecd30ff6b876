#include "cli/demo/round.hpp"

#include "cli/demo/service.hpp"
#include "cli/process/interrupted.hpp"
#include "cli/process/scoped_process.hpp"

#include <holdfast/types.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::cli::demo {

namespace {

using namespace std::chrono_literals;

constexpr auto progress_gap = 100ms;

class all_services {
  public:
    all_services(protection guard, const plan& what, const surroundings& around,
                 const std::filesystem::path& books)
        : signals_(around.signals) {
        for (int i = 0; i < what.processes; ++i) {
            auto& one = services_.emplace_back();
            one.process.emplace("/proc/self/exe", std::vector<std::string>{"holdfast", "demo", "--serve"},
                                scoped_process::talk::lines);
            one.process->say(to_line({.guard = guard,
                                      .kind = what.kind,
                                      .process = i,
                                      .threads = what.threads,
                                      .requests = what.share_of(i),
                                      .books = books,
                                      .url = around.url,
                                      .prefix = around.prefix}));
        }
    }

    void wait_until_ready() {
        while (!all(&service::ready)) listen(-1);
    }
    void go() {
        for (auto& one : services_) one.process->say("go");
    }
    // Returns after a line from the services or after this time.
    void listen(std::chrono::milliseconds at_most) { listen(static_cast<int>(at_most.count())); }

    [[nodiscard]] std::int64_t answered() const {
        return std::accumulate(services_.begin(), services_.end(), std::int64_t{0},
                               [](std::int64_t sum, const service& one) { return sum + one.answered; });
    }
    void wait_for_the_end() {
        while (!all(&service::ended)) listen(-1);
    }

  private:
    struct service {
        std::optional<scoped_process> process;
        bool ready = false;
        bool ended = false;
        std::int64_t answered = 0;
    };

    [[nodiscard]] bool all(bool service::*what) const { return std::ranges::all_of(services_, what); }

    void listen(int timeout_ms) {
        std::vector<pollfd> sources{{signals_.fd(), POLLIN, 0}};
        for (const auto& one : services_) sources.push_back({one.ended ? -1 : one.process->fd(), POLLIN, 0});
        ::poll(sources.data(), sources.size(), timeout_ms);
        throw_if_interrupted(signals_);
        for (auto& one : services_) {
            if (!one.ended) read_lines(one);
        }
    }

    static void read_lines(service& from) {
        constexpr std::string_view failed = "failed ";
        while (const auto line = from.process->next_line()) {
            if (*line == "ready") {
                from.ready = true;
            } else if (line->starts_with(failed)) {
                throw std::runtime_error(
                    fmt::format("a service of the demo failed: {}", line->substr(failed.size())));
            } else {
                std::from_chars(line->data(), line->data() + line->size(), from.answered);
            }
        }
        if (!from.process->silent()) return;
        // It has closed its output, so it ends now or in a moment.
        while (!from.process->status()) std::this_thread::sleep_for(1ms);
        const int status = *from.process->status();
        if (status != 0) {
            throw std::runtime_error(
                WIFSIGNALED(status)
                    ? fmt::format("a service of the demo was killed by signal {}", WTERMSIG(status))
                    : fmt::format("a service of the demo ended with code {}", WEXITSTATUS(status)));
        }
        from.ended = true;
    }

    signal_inbox& signals_;
    std::deque<service> services_;
};

}  // namespace

round_result run_round(protection guard, const plan& what, const surroundings& around) {
    const auto books = around.folder / fmt::format("round{}.db", static_cast<int>(guard) + 1);
    ledger::create(books, what.stock);
    ledger reader{books};

    around.on_progress({.guard = guard});
    all_services services{guard, what, around, books};
    services.wait_until_ready();
    const auto begun = boot_clock::now();
    auto reported_at = begun;
    services.go();
    while (services.answered() < what.requests) {
        services.listen(progress_gap);
        if (const auto now = boot_clock::now(); now - reported_at >= progress_gap) {
            reported_at = now;
            around.on_progress({guard, services.answered(), reader.sales_so_far(), now - begun});
        }
    }
    const auto took = boot_clock::now() - begun;
    services.wait_for_the_end();
    return {guard, reader.sum_up(), took};
}

}  // namespace holdfast::cli::demo
