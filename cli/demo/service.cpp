#include "cli/demo/service.hpp"

#include "cli/demo/ledger.hpp"

#include <holdfast/client.hpp>
#include <holdfast/error.hpp>
#include <holdfast/mutex.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::cli::demo {

namespace {

using namespace std::chrono_literals;

// A slow query that one request makes for all others.
constexpr auto rebuild_time = 20ms;
constexpr auto report_gap = 50ms;

void write_line(std::string_view line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
}

// The rounds differ in nothing but the lock.
struct no_lock {
    void lock() {}
    void unlock() {}
};

// Reads, checks, writes: correct if no other thread or process does so at the same time.
bool sell_one(ledger& books, int process) {
    const auto left = books.stock_left();
    if (left <= 0) return false;
    books.write_stock_left(left - 1);
    books.record_sale(process);
    return true;
}

void rebuild_price(ledger& books, int process) {
    books.record_rebuild(process);
    std::this_thread::sleep_for(rebuild_time);
    books.cache_price();
}

template <class Lock>
class service {
  public:
    service(const assignment& job, Lock& stock, Lock& price)
        : assignment_(job), stock_(stock), price_(price) {}

    // Opens everything, waits for "go", answers all requests and records them.
    void run() {
        std::vector<ledger> books;
        for (int i = 0; i < assignment_.threads; ++i) books.emplace_back(assignment_.books);
        {
            const std::lock_guard once{stock_};  // opens the connection
        }
        answers_.resize(static_cast<std::size_t>(assignment_.requests));
        write_line("ready");
        if (std::string line; !std::getline(std::cin, line) || line != "go")
            throw std::runtime_error("its standard input did not say \"go\"");

        {
            std::vector<std::jthread> threads;
            for (auto& own : books) {
                threads.emplace_back([this, &own] { work(own); });
            }
            report();
        }
        if (failure_) std::rethrow_exception(failure_);
        books.front().record_answers(assignment_.process, answers_);
    }

  private:
    void work(ledger& books) noexcept {
        try {
            while (!broken_) {
                const auto mine = next_.fetch_add(1, std::memory_order_relaxed);
                if (mine >= assignment_.requests) return;
                answers_[static_cast<std::size_t>(mine)] = serve_one(books);
                if (answered_.fetch_add(1) + 1 == assignment_.requests) wake_reporter();
            }
        } catch (...) {
            const std::lock_guard hold{guard_};
            if (!failure_) failure_ = std::current_exception();
            broken_ = true;
            changed_.notify_one();
        }
    }

    answer serve_one(ledger& books) {
        if (!books.price_is_cached()) {
            const std::lock_guard hold{price_};
            if (!books.price_is_cached()) rebuild_price(books, assignment_.process);
        }
        answer given;
        const auto asked = boot_clock::now();
        const std::lock_guard hold{stock_};
        given.wait_us = static_cast<std::uint32_t>((boot_clock::now() - asked) / 1us);
        given.sold = sell_one(books, assignment_.process);
        return given;
    }

    void wake_reporter() {
        const std::lock_guard hold{guard_};
        changed_.notify_one();
    }

    void report() {
        std::unique_lock hold{guard_};
        const auto over = [this] { return broken_ || answered_ == assignment_.requests; };
        while (!changed_.wait_for(hold, report_gap, over)) write_line(std::to_string(answered_));
        if (!broken_) write_line(std::to_string(answered_));
    }

    const assignment& assignment_;
    Lock& stock_;
    Lock& price_;

    std::atomic<std::int64_t> next_{0};
    std::atomic<std::int64_t> answered_{0};
    std::vector<answer> answers_;  // each by the thread that took its number

    std::mutex guard_;
    std::condition_variable changed_;
    std::exception_ptr failure_;  // the first; under guard_
    std::atomic<bool> broken_{false};
};

template <class Lock>
void run_with_own_locks(const assignment& job) {
    Lock stock;
    Lock price;
    service<Lock>(job, stock, price).run();
}

template <class Lock>
void run_with_shared_locks(const assignment& job) {
    client locks{job.url};
    Lock stock{locks, job.prefix + "stock:42"};
    Lock price{locks, job.prefix + "price:42"};
    service<Lock>(job, stock, price).run();
}

void run(const assignment& job) {
    switch (job.guard) {
        case protection::none: return run_with_own_locks<no_lock>(job);
        case protection::process: return run_with_own_locks<std::mutex>(job);
        case protection::store: break;
    }
    switch (job.kind) {
        case demo_kind::mutex: return run_with_shared_locks<mutex>(job);
        case demo_kind::recursive: return run_with_shared_locks<recursive_mutex>(job);
    }
}

assignment from_line(const std::string& line) {
    const auto job = nlohmann::json::parse(line);
    return {.guard = job.at("guard").get<protection>(),
            .kind = job.at("kind").get<demo_kind>(),
            .process = job.at("process"),
            .threads = job.at("threads"),
            .requests = job.at("requests"),
            .books = job.at("books").get<std::string>(),
            .url = job.at("url"),
            .prefix = job.at("prefix")};
}

}  // namespace

std::string to_line(const assignment& job) {
    const nlohmann::json line{{"guard", job.guard},       {"kind", job.kind},
                              {"process", job.process},   {"threads", job.threads},
                              {"requests", job.requests}, {"books", job.books.string()},
                              {"url", job.url},           {"prefix", job.prefix}};
    return line.dump();
}

int serve() {
    try {
        std::string line;
        if (!std::getline(std::cin, line)) throw std::runtime_error("its standard input gave no assignment");
        run(from_line(line));
        return 0;
    } catch (const error& e) {
        write_line(fmt::format("failed {}{}{}", e.what(),
                               e.server_text().empty() ? "" : "; the server says: ", e.server_text()));
    } catch (const std::exception& e) {
        write_line(fmt::format("failed {}", e.what()));
    }
    return 1;
}

}  // namespace holdfast::cli::demo
