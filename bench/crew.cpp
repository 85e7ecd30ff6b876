#include "crew.hpp"

#include "support/child_process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <sys/mman.h>

namespace holdfast::bench {

namespace {

class shared_memory {
  public:
    shared_memory() {
        void* at =
            ::mmap(nullptr, sizeof(shared_page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) throw std::runtime_error("no shared memory");
        page_ = new (at) shared_page;
    }
    shared_memory(const shared_memory&) = delete;
    shared_memory& operator=(const shared_memory&) = delete;
    ~shared_memory() { ::munmap(page_, sizeof *page_); }
    shared_page& operator*() const { return *page_; }
    shared_page* operator->() const { return page_; }

  private:
    shared_page* page_;
};

constexpr milliseconds patience = 60s;

// A mutex that works between processes.
class spinning {
  public:
    explicit spinning(std::atomic_flag& on) : flag_(on) {
        while (flag_.test_and_set()) std::this_thread::yield();
    }
    spinning(const spinning&) = delete;
    spinning& operator=(const spinning&) = delete;
    ~spinning() { flag_.clear(); }

  private:
    std::atomic_flag& flag_;
};

}  // namespace

std::size_t shared_page::enter_with_permit() {
    const int me = ::getpid();
    const spinning guard{taken};
    std::size_t at = permits;
    for (std::size_t i = 0; i < permits; ++i)
        if (holders[i] == 0 && (at == permits || last_holders[i] == me)) at = i;
    ++counter;
    if (at == permits) {
        ++violations;
        return at;
    }
    holders[at] = me;
    if (std::exchange(last_holders[at], me) != me) ++changes;
    return at;
}

void shared_page::leave_permit(std::size_t at) {
    const spinning guard{taken};
    if (at < permits) holders[at] = 0;
}

sample run_crew(int n, milliseconds span, const crew_body& body) {
    shared_memory page;
    std::vector<test::child_process> crew;
    for (int i = 0; i < n; ++i) {
        crew.push_back(test::child_process::fork_call([&, i](const test::parent_link& parent) {
            const auto counted = body(i, *page, [&] {
                parent.report("ready");
                (void)parent.await_line();
            });
            parent.report(
                fmt::format("done {} {} {}", counted.acquisitions, counted.commands, counted.attempts));
            return 0;
        }));
    }
    const auto await_output = [&](test::child_process& one, const char* what) {
        if (!one.wait_for_output(what, patience))
            throw std::runtime_error("a process of the bench failed: " + one.errors());
    };
    for (auto& one : crew) await_output(one, "ready");
    const auto before = page->counter;
    for (auto& one : crew) one.write("go\n");
    const auto from = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(span);  // the measured time, not a wait for an event
    page->over = true;
    const auto took = std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count();

    tally all;
    std::uint64_t least = ~0ULL, most = 0;
    for (auto& one : crew) {
        await_output(one, "done");
        if (one.wait(patience) != 0)
            throw std::runtime_error("a process of the bench failed: " + one.errors());
        std::istringstream words{one.output().substr(one.output().find("done") + 4)};
        tally t;
        words >> t.acquisitions >> t.commands >> t.attempts;
        least = std::min(least, t.acquisitions);
        most = std::max(most, t.acquisitions);
        all.acquisitions += t.acquisitions;
        all.commands += t.commands;
        all.attempts += t.attempts;
    }
    if (page->violations != 0)
        throw std::runtime_error(
            fmt::format("the lock had too many holders {} times", page->violations.load()));
    if (page->counter - before != all.acquisitions)
        throw std::runtime_error(
            fmt::format("{} acquisitions counted {}", all.acquisitions, page->counter - before));
    const auto each = [&](std::uint64_t count) {
        return static_cast<double>(count) / static_cast<double>(all.acquisitions);
    };
    return {static_cast<double>(all.acquisitions) / took,
            {{"changes of owner per second", static_cast<double>(page->changes) / took},
             {"least / most of a process", static_cast<double>(least) / static_cast<double>(most)},
             {"smallest share of the whole", each(least)},
             {"commands per acquisition", each(all.commands)},
             {"refused attempts per acquisition", std::max(0.0, each(all.attempts) - 1)}}};
}

}  // namespace holdfast::bench
