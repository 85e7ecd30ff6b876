#include "cli/demo/outage/service.hpp"

#include "cli/demo/ledger.hpp"

#include <holdfast/admin.hpp>
#include <holdfast/client.hpp>
#include <holdfast/error.hpp>
#include <holdfast/mutex.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::cli::demo::outage {

namespace {

using namespace std::chrono_literals;
using time_point = boot_clock::time_point;

constexpr auto report_gap = 50ms;
constexpr auto burst_gap = 100ms;
// The article waits for 5 s and works for much longer than this shop.
constexpr auto wait_of_the_article = 5ms;
constexpr auto pause_of_the_article = 100ms;
constexpr int tries_of_the_article = 3;

// Lines of several threads.
class output {
  public:
    void write(const std::string& line) {
        const std::lock_guard hold{guard_};
        fmt::print("{}\n", line);
        std::fflush(stdout);
    }

  private:
    std::mutex guard_;
};

// Reads, checks, writes: correct if no other thread or process does so at the same time.
void sell_one(ledger& books, int process) {
    const auto left = books.stock_left();
    if (left <= 0) return;
    books.write_stock_left(left - 1);
    books.record_sale(process);
}

config settings_for(const outage_job& job) {
    config how;
    how.url = job.url;
    how.answer_timeout = 500ms;
    if (job.how == scheme::fail_closed) how.policies = {{.name = "stock", .match = "*"}};
    if (job.how == scheme::fail_open)
        how.policies = {{.name = "stock", .match = "*", .outage = on_outage::fail_open_process}};
    if (job.how == scheme::joint) how.lease = 2s;
    return how;
}

// Answers one request at a time in each thread.
class shop {
  public:
    shop(const outage_job& job, output& to)
        : job_(job), locks_(settings_for(job)), stock_(locks_, "stock:42") {
        events_ = locks_.on_event([this, &to](const event& e) {
            if (e.kind == event_kind::switched && job_.process == 0) to.write("mode " + e.detail);
        });
    }

    void warm_up() {
        // A Redis that has just started may have forgotten locks.
        for (std::error_code ec; !stock_.try_acquire_for(1s, ec);) {
        }
        if (job_.how == scheme::joint && job_.process == 0)
            (void)admin::set_automatic(locks_, true, {.by = "the demo", .reason = "an outage follows"});
    }

    outage_counts serve(ledger& books, time_point until) {
        switch (job_.how) {
            case scheme::chain: return by_the_article(books);
            case scheme::fail_closed:
            case scheme::joint: return with_the_lock(books, until);
            case scheme::fail_open: return with_a_version(books, until);
        }
        return {};
    }

  private:
    // The comment there says "not got, but Redis works: return"; the code only leaves the loop, and goes on
    // to the lock of the process.
    outage_counts by_the_article(ledger& books) {
        outage_counts result{.served = 1};
        for (int i = 0; i < tries_of_the_article; ++i) {
            std::error_code ec;
            const auto held = stock_.try_acquire_for(wait_of_the_article, ec);
            if (held) {
                sell_one(books, job_.process);
                return result;
            }
            if (!ec) {  // another one has the lock
                result.busy = 1;
                break;
            }
            std::this_thread::sleep_for(pause_of_the_article);
        }
        result.weaker = 1;
        const std::lock_guard hold{of_the_process_};
        sell_one(books, job_.process);
        return result;
    }

    outage_counts with_the_lock(ledger& books, time_point until) {
        std::error_code ec;
        const auto held = stock_.try_acquire_for(left(until), ec);
        if (!held || !held.valid()) return {.refused = 1};
        sell_one(books, job_.process);
        return {.served = 1};
    }

    // The lock only saves retries.
    outage_counts with_a_version(ledger& books, time_point until) {
        std::error_code ec;
        const auto held = stock_.try_acquire_for(left(until), ec);
        if (!held) return {.refused = 1};
        outage_counts result{.served = 1, .weaker = held.strength() < locks_.strength() ? 1 : 0};
        for (auto seen = books.stock_version(); seen.items > 0; seen = books.stock_version()) {
            if (books.sell_one_of(seen, job_.process)) break;
            ++result.retries;
        }
        return result;
    }

    static std::chrono::milliseconds left(time_point until) {
        return std::max(std::chrono::ceil<std::chrono::milliseconds>(until - boot_clock::now()), 1ms);
    }

    const outage_job& job_;
    std::mutex of_the_process_;
    client locks_;
    mutex stock_;
    event_subscription events_;
};

class worker_pool {
  public:
    explicit worker_pool(const outage_job& job) : job_(job) {}

    void run() {
        output to;
        shop of{job_, to};
        std::vector<ledger> books;
        for (int i = 0; i < job_.threads; ++i) books.emplace_back(job_.books);
        of.warm_up();
        to.write("ready");
        if (std::string line; !std::getline(std::cin, line) || line != "go")
            throw std::runtime_error("its standard input did not say \"go\"");
        const auto begun = boot_clock::now();
        std::vector<std::jthread> threads;
        for (auto& own : books) threads.emplace_back([&, begun] { work(of, own, begun); });
        for (bool over = false; !over;) {
            std::this_thread::sleep_for(report_gap);
            over = running_ == 0 || failed_;
            const auto now = [&] {
                const std::lock_guard hold{guard_};
                return counts_;
            }();
            to.write(to_line(now));
        }
        threads.clear();
        if (failure_) std::rethrow_exception(failure_);
    }

  private:
    // The requests come in bursts, whether the ones before are answered or not.
    void work(shop& of, ledger& books, time_point begun) noexcept {
        try {
            while (!failed_) {
                const auto mine = next_.fetch_add(1, std::memory_order_relaxed);
                if (mine >= job_.requests) break;
                const auto bursts = std::floor(static_cast<double>(mine) / per_burst_);
                const auto due = begun + static_cast<std::int64_t>(bursts) * burst_gap;
                const auto until = due + std::chrono::milliseconds{job_.patience_ms};
                if (const auto now = boot_clock::now(); now < due) std::this_thread::sleep_for(due - now);
                const auto result =
                    boot_clock::now() < until ? of.serve(books, until) : outage_counts{.refused = 1};
                const std::lock_guard hold{guard_};
                counts_ += result;
            }
        } catch (...) {
            const std::lock_guard hold{guard_};
            if (!failure_) failure_ = std::current_exception();
            failed_ = true;
        }
        --running_;
    }

    const outage_job& job_;
    const double per_burst_{job_.rate * std::chrono::duration<double>{burst_gap}.count()};
    std::atomic<std::int64_t> next_{0};
    std::atomic<int> running_{job_.threads};
    std::atomic<bool> failed_{false};
    std::mutex guard_;
    outage_counts counts_;        // under guard_
    std::exception_ptr failure_;  // the first; under guard_
};

outage_job job_from(const std::string& line) {
    const auto job = nlohmann::json::parse(line);
    return {.how = job.at("how").get<scheme>(),
            .process = job.at("process"),
            .threads = job.at("threads"),
            .requests = job.at("requests"),
            .rate = job.at("rate"),
            .patience_ms = job.at("patience_ms"),
            .books = job.at("books").get<std::string>(),
            .url = job.at("url")};
}

}  // namespace

outage_counts& outage_counts::operator+=(const outage_counts& more) {
    served += more.served;
    refused += more.refused;
    weaker += more.weaker;
    busy += more.busy;
    retries += more.retries;
    return *this;
}

std::string to_line(const outage_counts& c) {
    return fmt::format("{} {} {} {} {}", c.served, c.refused, c.weaker, c.busy, c.retries);
}

bool read(std::string_view line, outage_counts& to) {
    std::istringstream in{std::string{line}};
    outage_counts c;
    if (!(in >> c.served >> c.refused >> c.weaker >> c.busy >> c.retries)) return false;
    to = c;
    return true;
}

std::string to_line(const outage_job& job) {
    const nlohmann::json line{{"how", job.how},
                              {"process", job.process},
                              {"threads", job.threads},
                              {"requests", job.requests},
                              {"rate", job.rate},
                              {"patience_ms", job.patience_ms},
                              {"books", job.books.string()},
                              {"url", job.url}};
    return line.dump();
}

int serve_outage() {
    try {
        std::string line;
        if (!std::getline(std::cin, line)) throw std::runtime_error("its standard input gave no job");
        const auto job = job_from(line);
        worker_pool{job}.run();
        return 0;
    } catch (const std::exception& e) {
        fmt::print("failed {}\n", e.what());
        std::fflush(stdout);
    }
    return 1;
}

}  // namespace holdfast::cli::demo::outage
