// The shop's books, kept in SQLite, outside every lock. The demo counts what is recorded here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

struct sqlite3;
struct sqlite3_stmt;

namespace holdfast::cli::demo {

// The result of one request.
struct answer {
    bool sold = false;
    std::uint32_t wait_us = 0;  // from the request for the lock of the stock to its acquisition
};

struct totals {
    std::int64_t left = 0;      // items in stock
    std::int64_t sold = 0;      // sales on record
    std::int64_t answered = 0;  // requests, sold or refused
    std::int64_t refused = 0;
    std::int64_t rebuilds = 0;  // of the cache entry
    std::int64_t wait_p50_us = 0;
    std::int64_t wait_p99_us = 0;
};

// One connection. Every call is a transaction of its own, as in a service that reads, computes and writes,
// and waits for its turn to write. So each statement is correct by itself, and errors come from the missing
// lock.
//
// Thread safety: none; each thread has its own. Throws std::runtime_error.
class ledger {
  public:
    // New books, with this stock and a cold cache.
    static void create(const std::filesystem::path& file, std::int64_t stock);

    explicit ledger(const std::filesystem::path& file);
    ledger(ledger&&) noexcept = default;
    ledger& operator=(ledger&&) = delete;
    ~ledger() = default;

    [[nodiscard]] std::int64_t stock_left();
    void write_stock_left(std::int64_t left);
    void record_sale(int process);

    // For a sale without a lock: of all that have read the same version, one succeeds.
    struct version {
        std::int64_t items = 0;
        std::int64_t number = 0;
    };
    [[nodiscard]] version stock_version();
    // Sells one and records it, in one transaction. False: somebody else has sold since `seen`.
    [[nodiscard]] bool sell_one_of(const version& seen, int process);

    [[nodiscard]] bool price_is_cached();
    void record_rebuild(int process);
    void cache_price();

    void record_answers(int process, std::span<const answer> answers);
    // Cheap: called while the round runs.
    [[nodiscard]] std::int64_t sales_so_far();
    [[nodiscard]] totals sum_up();

  private:
    struct closer {
        void operator()(sqlite3* db) const noexcept;
        void operator()(sqlite3_stmt* statement) const noexcept;
    };
    using connection = std::unique_ptr<sqlite3, closer>;
    using statement = std::unique_ptr<sqlite3_stmt, closer>;

    [[nodiscard]] statement prepare(const char* sql) const;
    // The first column of the first row; 0 if there is none.
    std::int64_t run(const statement& what) const;
    std::int64_t run(const statement& what, std::int64_t first) const;
    void run(const char* sql) const;

    connection db_;
    statement read_left_, write_left_, insert_sale_, read_price_, insert_rebuild_, write_price_, last_sale_,
        read_version_, sell_version_;
};

}  // namespace holdfast::cli::demo
