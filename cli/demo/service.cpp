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

void tell(std::string_view line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
}

// The services differ in nothing but this.
struct no_lock {
    void lock() {}
    void unlock() {}
};

// Reads, checks, writes: right if nobody else does so at the same time.
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
    service(const assignment& told, Lock& stock, Lock& price) : told_(told), stock_(stock), price_(price) {}

    // Opens everything, waits for "go", answers all requests and records them.
    void run() {
        std::vector<ledger> books;
        for (int i = 0; i < told_.threads; ++i) books.emplace_back(told_.books);
        {
            const std::lock_guard once{stock_};  // so that the connection stands
        }
        answers_.resize(static_cast<std::size_t>(told_.requests));
        tell("ready");
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
        books.front().record_answers(told_.process, answers_);
    }

  private:
    void work(ledger& books) noexcept {
        try {
            while (!broken_) {
                const auto mine = next_.fetch_add(1, std::memory_order_relaxed);
                if (mine >= told_.requests) return;
                answers_[static_cast<std::size_t>(mine)] = serve_one(books);
                if (answered_.fetch_add(1) + 1 == told_.requests) wake_reporter();
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
            if (!books.price_is_cached()) rebuild_price(books, told_.process);
        }
        answer given;
        const auto asked = boot_clock::now();
        const std::lock_guard hold{stock_};
        given.wait_us = static_cast<std::uint32_t>((boot_clock::now() - asked) / 1us);
        given.sold = sell_one(books, told_.process);
        return given;
    }

    void wake_reporter() {
        const std::lock_guard hold{guard_};
        changed_.notify_one();
    }

    void report() {
        std::unique_lock hold{guard_};
        const auto over = [this] { return broken_ || answered_ == told_.requests; };
        while (!changed_.wait_for(hold, report_gap, over)) tell(std::to_string(answered_));
        if (!broken_) tell(std::to_string(answered_));
    }

    const assignment& told_;
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
void run_with_own_locks(const assignment& told) {
    Lock stock;
    Lock price;
    service<Lock>(told, stock, price).run();
}

template <class Lock>
void run_with_shared_locks(const assignment& told) {
    client locks{told.url};
    Lock stock{locks, "stock:42"};
    Lock price{locks, "price:42"};
    service<Lock>(told, stock, price).run();
}

void run(const assignment& told) {
    switch (told.guard) {
        case protection::none: return run_with_own_locks<no_lock>(told);
        case protection::process: return run_with_own_locks<std::mutex>(told);
        case protection::store: break;
    }
    switch (told.kind) {
        case demo_kind::mutex: return run_with_shared_locks<mutex>(told);
        case demo_kind::recursive: return run_with_shared_locks<recursive_mutex>(told);
    }
}

assignment from_line(const std::string& line) {
    const auto told = nlohmann::json::parse(line);
    return {.guard = told.at("guard").get<protection>(),
            .kind = told.at("kind").get<demo_kind>(),
            .process = told.at("process"),
            .threads = told.at("threads"),
            .requests = told.at("requests"),
            .books = told.at("books").get<std::string>(),
            .url = told.at("url")};
}

}  // namespace

std::string to_line(const assignment& told) {
    const nlohmann::json line{
        {"guard", told.guard},     {"kind", told.kind},         {"process", told.process},
        {"threads", told.threads}, {"requests", told.requests}, {"books", told.books.string()},
        {"url", told.url}};
    return line.dump();
}

int serve() {
    try {
        std::string line;
        if (!std::getline(std::cin, line)) throw std::runtime_error("its standard input gave no assignment");
        run(from_line(line));
        return 0;
    } catch (const error& e) {
        tell(fmt::format("failed {}{}{}", e.what(),
                         e.server_text().empty() ? "" : "; the server says: ", e.server_text()));
    } catch (const std::exception& e) {
        tell(fmt::format("failed {}", e.what()));
    }
    return 1;
}

}  // namespace holdfast::cli::demo
