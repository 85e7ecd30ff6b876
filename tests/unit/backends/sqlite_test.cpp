// The URL of a store in an SQLite database, and what the store remembers of a transaction that failed.
#include "backends/services.hpp"
#include "backends/sqlite/database.hpp"
#include "backends/sqlite/store.hpp"
#include "backends/sqlite/url.hpp"
#include "io/reactor.hpp"
#include "support/errors.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::sqlite_backend {
namespace {

using test::code_of;

TEST(sqlite_url, names_a_file) {
    EXPECT_EQ(parse_url("sqlite:/run/app/locks.db").path, "/run/app/locks.db");
    EXPECT_EQ(parse_url("sqlite:///run/app/locks.db").path, "/run/app/locks.db");
    EXPECT_EQ(parse_url("sqlite:locks.db").path, (std::filesystem::current_path() / "locks.db").string());
    EXPECT_EQ(parse_url("sqlite:/run/a%3Fb%25c").path, "/run/a?b%c");
    EXPECT_FALSE(parse_url("sqlite:/run/locks.db").same_kernel);
    EXPECT_TRUE(parse_url("sqlite:/run/locks.db?same_kernel=yes").same_kernel);
}

TEST(sqlite_url, that_cannot_be_meant_is_refused) {
    for (const char* const url :
         {"sqlite:", "sqlite:?same_kernel=yes", "sqlite:%00", "sqlite:/a%3", "sqlite:/a%xy",
          "sqlite::memory:", "sqlite://host/locks.db", "sqlite:/a?mode=memory"})
        EXPECT_EQ(code_of([&] { (void)parse_url(url); }), errc::invalid_argument) << url;
}

class sqlite_store_test : public ::testing::Test {
  protected:
    using change = backend::watch_event::change;

    [[nodiscard]] std::unique_ptr<backend::store> new_store() {
        return open({reactor, settings, base::client_id::make(), [](const backend::notice&) {}});
    }
    // The store calls its handler at once.
    static backend::attempt_answer attempt(backend::store& on, const owner_id& by, backend::intent want) {
        backend::attempt_answer answer;
        on.attempt({stock, by, std::chrono::seconds{10}, want}, boot_clock::now() + std::chrono::seconds{10},
                   [&](backend::attempt_answer a) { answer = std::move(a); });
        return answer;
    }

    inline static const backend::lock_key stock{backend::kind::native, lock_name{"stock"}};
    const test::temp_dir folder;
    const std::string path = (folder.path() / "locks.db").string();
    const config settings{.url = "sqlite:" + path};
    io::reactor reactor;
    std::vector<change> seen;
};

// No message reaches it, so it asks again and again, and would find the lock taken by others each time.
TEST_F(sqlite_store_test, keeps_the_turn_of_a_waiter_without_a_socket_for_messages) {
    using backend::intent;
    std::ofstream{path + "-wake"} << "in the place of the folder of the sockets";
    const auto others = new_store();
    const auto deaf = new_store();
    const auto holder = others->new_owner(stock.of, 1);
    const auto waiter = deaf->new_owner(stock.of, 1);
    const auto newcomer = others->new_owner(stock.of, 1);
    EXPECT_TRUE(std::holds_alternative<backend::granted>(attempt(*others, holder, intent::look)));
    const auto watch =
        deaf->watch(stock, waiter, [&](const backend::watch_event& e) { seen.push_back(e.what); });
    EXPECT_EQ(seen, std::vector{change::refused});
    EXPECT_TRUE(std::holds_alternative<backend::busy>(attempt(*deaf, waiter, intent::queue)));
    others->release({stock, holder}, boot_clock::now() + std::chrono::seconds{10},
                    [](const backend::release_answer&) {});
    EXPECT_TRUE(std::holds_alternative<backend::busy>(attempt(*others, newcomer, intent::look)));
    EXPECT_TRUE(std::holds_alternative<backend::granted>(attempt(*deaf, waiter, intent::queue)));
}

// As a full disk: while it exists, this process can write to no file.
TEST_F(sqlite_store_test, makes_a_file_of_small_pages_and_opens_one_of_others) {
    {
        database of_an_earlier_version{path};
        of_an_earlier_version.run("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; CREATE TABLE x (y)");
        of_an_earlier_version.run("DROP TABLE x");
    }
    (void)new_store();
    EXPECT_EQ(database{path}.number_of("PRAGMA page_size"), 4096);
    for (const char* const file : {"", "-wal", "-shm"}) (void)std::remove((path + file).c_str());
    (void)new_store();
    EXPECT_EQ(database{path}.number_of("PRAGMA page_size"), 1024);
}

class no_file_grows {
  public:
    no_file_grows() {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit none{0, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &none);
    }
    no_file_grows(const no_file_grows&) = delete;
    no_file_grows& operator=(const no_file_grows&) = delete;
    ~no_file_grows() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        (void)std::signal(SIGXFSZ, on_growth_);
    }

  private:
    void (*const on_growth_)(int) = std::signal(SIGXFSZ, SIG_IGN);
    rlimit before_{};
};

TEST_F(sqlite_store_test, lists_itself_and_its_waiters_again_after_a_transaction_that_failed) {
    const auto store = new_store();
    const backend::lock_key key{backend::kind::semaphore, lock_name{"permits"}};
    const auto watch = [&] {
        return store->watch(key, store->new_owner(key.of, 1),
                            [&](const backend::watch_event& e) { seen.push_back(e.what); });
    };
    const auto first = [&] {
        const no_file_grows full;
        return watch();
    }();
    const auto second = watch();
    EXPECT_EQ(seen, (std::vector{change::refused, change::watching}));
    database file{path};
    EXPECT_EQ(file.number_of("SELECT count(*) FROM holdfast_listeners"), 1);
    EXPECT_EQ(file.number_of("SELECT count(*) FROM holdfast_clients"), 1);
}

}  // namespace
}  // namespace holdfast::sqlite_backend
