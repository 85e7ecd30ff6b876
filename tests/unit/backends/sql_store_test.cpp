// The store for SQL databases on a table in memory: requests that must fail, and how they fail.
#ifdef HOLDFAST_HAS_POSTGRES

#include "backends/sql/store.hpp"
#include "engine/lock_record.hpp"
#include "store/counters.hpp"
#include "support/eventually.hpp"
#include "unit/backends/sql_table.hpp"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::sql_backend {
namespace {

using namespace backend;
using namespace std::chrono_literals;
using test::eventually;
using test::patience;

class no_messages final : public mailbox {
  public:
    state open() override { return state::refused; }
    void listen(const std::string&, std::function<void()>) override {}
    void stop_listening(const std::string&) override {}
    void close() override {}
    void abandon() noexcept override {}
};

class sql_store_on_a_table : public ::testing::Test {
  protected:
    static dialect words_of_the_table() {
        dialect d{};
        d.load.sql = "load";
        d.insert.sql = "insert";
        d.save.sql = "save";
        d.save_at.sql = "save_at";
        d.load_many.sql = "load_many";
        d.list_of_blobs = [](const std::vector<std::string>&) { return std::string{}; };
        d.list_of_numbers = [](const std::vector<std::int64_t>&) { return std::string{}; };
        return d;
    }
    std::unique_ptr<store> make() {
        const backends::services given{reactor, settings, base::client_id::make(), [](const notice&) {}};
        return open(given, [&](const mailbox::handlers&) -> parts {
            auto rows = std::make_unique<table_of_locks>(reactor);
            database = rows.get();
            return {words, std::move(rows), std::make_unique<no_messages>(), {}, [] { return 0; }, restarts};
        });
    }
    [[nodiscard]] static time_point soon() { return boot_clock::now() + patience; }
    static lock_key key(const char* name) { return {kind::recursive, lock_name{name}}; }

    attempt_answer acquire(store& on, const char* name, const char* owner) {
        std::promise<attempt_answer> given;
        on.attempt({key(name), owner_id{owner}, 30s}, soon(),
                   [&](attempt_answer a) { given.set_value(std::move(a)); });
        return given.get_future().get();
    }
    std::vector<renew_answer> renew(store& on, const std::vector<renew_request>& all) {
        std::promise<std::vector<renew_answer>> given;
        on.renew(all, soon(), [&](std::vector<renew_answer> a) { given.set_value(std::move(a)); });
        return given.get_future().get();
    }
    release_answer release(store& on, const char* name, const char* owner) {
        std::promise<release_answer> given;
        on.release({key(name), owner_id{owner}}, soon(),
                   [&](release_answer a) { given.set_value(std::move(a)); });
        return given.get_future().get();
    }

    io::reactor reactor;
    const config settings{};
    const dialect words = words_of_the_table();
    std::shared_ptr<quarantine> restarts;
    table_of_locks* database = nullptr;
};

// A hold may be asked for a longer ttl when it is there already: only then is no attempt refused before.
TEST_F(sql_store_on_a_table, renews_no_lease_that_a_quarantine_would_not_outlast) {
    restarts = std::make_shared<quarantine>(60s);
    const auto one = make();
    ASSERT_TRUE(std::holds_alternative<granted>(acquire(*one, "ledger", "c|1")));
    ASSERT_TRUE(std::holds_alternative<granted>(acquire(*one, "stock", "c|2")));
    const auto answers = renew(*one, {{key("ledger"), owner_id{"c|1"}, 10min},
                                      {key("stock"), owner_id{"c|2"}, 60s},
                                      {key("gone"), owner_id{"c|3"}, 60s}});
    ASSERT_EQ(answers.size(), 3U);
    EXPECT_TRUE(std::holds_alternative<unknown>(answers[0]));
    EXPECT_TRUE(std::holds_alternative<renewed>(answers[1]));
    EXPECT_TRUE(std::holds_alternative<not_held>(answers[2]));
    const auto written = *engine::from_bytes(database->all.at("ledger").record);
    EXPECT_LT(written.holders.at(0).expires,
              engine::store_time{std::chrono::microseconds{base::wall_microseconds()} + 60s});
}

// There is no memory for a statement: the first is sent by the calling thread, the others by the reactor's.
TEST_F(sql_store_on_a_table, answers_without_memory_and_goes_on) {
    const auto one = make();
    for (const auto& [statement, name] :
         {std::pair{"load", "a"}, std::pair{"insert", "b"}, std::pair{"save_at", "a"}}) {
        database->no_memory_for = statement;
        const auto no = acquire(*one, name, "c|1");
        database->no_memory_for.clear();
        const auto* const why = std::get_if<refused>(&no);
        ASSERT_NE(why, nullptr) << statement;
        EXPECT_EQ(why->code, errc::out_of_memory);
        ASSERT_TRUE(std::holds_alternative<granted>(acquire(*one, name, "c|2"))) << statement;
        ASSERT_TRUE(std::holds_alternative<released>(release(*one, name, "c|2"))) << statement;
    }
    EXPECT_TRUE(eventually(patience, [&] { return !one->has_pending(); }));
}

}  // namespace
}  // namespace holdfast::sql_backend

#endif
