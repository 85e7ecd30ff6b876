// What all stores promise that have a register.
#include "server/register_scene.hpp"
#include "support/background.hpp"
#include "support/redis_server.hpp"
#include "support/sql_server.hpp"
#include "support/zookeeper_server.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class in_memory final : public register_place {
  public:
    [[nodiscard]] std::string url() const override { return name; }

  private:
    static constexpr const char* name = "local:registers";
    register_client keeper_{name};  // the space ends with its last client
};

class in_sqlite final : public register_place {
  public:
    [[nodiscard]] std::string url() const override {
        return "sqlite:" + (folder_.path() / "locks.db").string();
    }

  private:
    temp_dir folder_;
};

class in_zookeeper final : public register_place {
  public:
    [[nodiscard]] std::string url() const override { return servers_.url(); }

  private:
    zookeeper_servers servers_;
};

class in_sql final : public register_place {
  public:
    explicit in_sql(sql_kind kind) : server_(start_sql_server(kind)) {}
    [[nodiscard]] std::string url() const override { return server_->url(); }

  private:
    const std::unique_ptr<sql_server> server_;
};

class in_files final : public register_place {
  public:
    [[nodiscard]] std::string url() const override { return "file:" + (folder_.path() / "locks").string(); }

  private:
    temp_dir folder_;
};

struct register_row {
    std::string name;
    std::function<std::unique_ptr<register_place>()> start;  // nullptr: the server is not installed
    friend void PrintTo(const register_row& r, std::ostream* out) { *out << r.name; }
};

template <class Place>
std::unique_ptr<register_place> start_in() {
    return std::make_unique<Place>();
}

std::unique_ptr<register_place> start_in_zookeeper() {
    return zookeeper_servers::available() ? start_in<in_zookeeper>() : nullptr;
}

std::vector<register_row> register_places() {
    std::vector<register_row> all{{"local", start_in<in_memory>},
                                  {"sqlite", start_in<in_sqlite>},
                                  {"file", start_in<in_files>},
                                  {"zookeeper", start_in_zookeeper}};
    for (const auto one : sql_kinds())
        all.push_back({name_of(one), [one] { return std::make_unique<in_sql>(one); }});
    return all;
}

class a_register : public ::testing::TestWithParam<register_row> {
  protected:
    void SetUp() override {
        place = GetParam().start();
        if (!place) GTEST_SKIP() << "its server is not installed";
        one = std::make_unique<register_client>(place->url());
        other = std::make_unique<register_client>(place->url());
    }
    // What `by` writes when nobody else does.
    static register_value write(register_client& by, std::uint64_t expected, const std::string& text) {
        const auto value = value_in(by.change(expected, text));
        if (!value || value->text != text) throw std::runtime_error{"it cannot be written"};
        return *value;
    }

    std::unique_ptr<register_place> place;
    std::unique_ptr<register_client> one;
    std::unique_ptr<register_client> other;
};

TEST_P(a_register, is_empty_before_the_first_change) {
    EXPECT_EQ(value_in(one->read()), register_value{});
    EXPECT_EQ(value_in(one->read({77, "never written"})), register_value{});
    EXPECT_EQ(value_in(one->change(77, "on nothing")), register_value{});
    EXPECT_EQ(value_in(other->read()), register_value{});
}

TEST_P(a_register, holds_what_the_first_writer_wrote) {
    const auto first = write(*one, 0, "R");
    EXPECT_NE(first.version, 0U);
    EXPECT_EQ(value_in(other->change(0, "F")), first);
    EXPECT_EQ(value_in(other->read()), first);
}

TEST_P(a_register, is_not_changed_by_a_client_that_knows_a_stale_version) {
    const auto first = write(*one, 0, "R");
    const auto second = write(*other, first.version, "RF");
    EXPECT_NE(second.version, first.version);
    EXPECT_EQ(value_in(one->change(first.version, "F")), second);
    EXPECT_EQ(value_in(one->change(0, "F")), second);
    EXPECT_EQ(value_in(one->read()), second);
}

TEST_P(a_register, answers_the_latest_value_whatever_the_reader_knows) {
    const auto first = write(*one, 0, "R");
    EXPECT_EQ(value_in(other->read()), first);
    EXPECT_EQ(value_in(other->read(first)), first);
    const auto second = write(*one, first.version, "RF");
    EXPECT_EQ(value_in(other->read(first)), second);
    EXPECT_EQ(value_in(other->read({second.version + 1, "wrong"})), second);
    EXPECT_EQ(value_in(other->read()), second);
}

TEST_P(a_register, holds_any_bytes_up_to_the_longest_text) {
    std::string odd;
    for (int i = 0; i < 256; ++i) odd += static_cast<char>(i);
    odd += "'\"\\%_;-- \\x00 \r\n";
    std::string longest;
    while (longest.size() < backend::linearizable_register::longest_text)
        longest += static_cast<char>(longest.size() * 7 % 256);
    std::uint64_t version = 0;
    for (const auto& text : {odd, longest, std::string{}, std::string(1, '\0')}) {
        const auto written = write(*one, version, text);
        EXPECT_EQ(value_in(other->read()), written);
        version = written.version;
    }
}

TEST_P(a_register, keeps_each_name_apart) {
    const auto mine = write(*one, 0, "R");
    register_request elsewhere{one->its_store(), [&](backend::handler<register_answer> done) {
                                   one->its_register()->read("mode.2_b-C", {}, one->deadline(),
                                                             std::move(done));
                               }};
    EXPECT_EQ(value_in(elsewhere.get()), register_value{});
    EXPECT_EQ(value_in(one->read()), mine);
}

// Both clients change the same version at the same moment. The text is a list of the changes: a lost update
// would take one away.
TEST_P(a_register, lets_one_of_two_clients_win_each_race_and_loses_no_change) {
    constexpr std::size_t rounds = 200;
    std::barrier both_have_read{2};
    const auto race = [&](register_client& by, char who) {
        std::set<std::string> won;
        for (std::size_t round = 0; round < rounds; ++round) {
            const auto now = value_in(by.read()).value_or(register_value{});
            both_have_read.arrive_and_wait();
            const auto mine = who + std::to_string(round);
            const auto text = now.text + ' ' + mine;
            if (value_in(by.change(now.version, text)).value_or(register_value{}).text == text)
                won.insert(mine);
            both_have_read.arrive_and_wait();
        }
        return won;
    };
    auto first = in_background([&] { return race(*one, 'a'); });
    auto won = race(*other, 'b');
    won.merge(first.get());
    EXPECT_EQ(won.size(), rounds);
    std::istringstream all{value_in(one->read()).value_or(register_value{}).text};
    std::size_t seen = 0;
    for (std::string change; all >> change; ++seen) {
        EXPECT_EQ(change.substr(1), std::to_string(seen));
        EXPECT_TRUE(won.contains(change)) << change;
    }
    EXPECT_EQ(seen, rounds);
}

TEST_P(a_register, shows_readers_no_part_of_a_text) {
    const std::size_t size = backend::linearizable_register::longest_text;
    auto now = write(*one, 0, std::string(size, 'a'));
    std::atomic<bool> over{false};
    auto reader = in_background([&] {
        std::set<std::string> seen;
        while (!over) seen.insert(value_in(other->read()).value_or(register_value{}).text);
        return seen;
    });
    for (const char letter : std::string{"bcdefghijklmnopqrstuvwxyz"})
        now = write(*one, now.version, std::string(size, letter));
    over = true;
    for (const auto& text : reader.get()) EXPECT_EQ(text, std::string(size, text.empty() ? '?' : text[0]));
}

TEST_P(a_register, gives_each_change_a_version_of_its_own) {
    std::set<std::uint64_t> versions;
    register_value now;
    for (int i = 0; i < 20; ++i) {
        now = write(i % 2 == 0 ? *one : *other, now.version, i % 4 < 2 ? "R" : "F");
        EXPECT_TRUE(versions.insert(now.version).second);
    }
}

TEST_P(a_register, outlives_its_clients) {
    const auto first = write(*one, 0, "R");
    one.reset();
    other.reset();
    EXPECT_EQ(value_in(register_client{place->url()}.read()), first);
}

TEST_P(a_register, is_not_listed_as_a_lock) {
    write(*one, 0, "R");
    config how;
    how.url = place->url();
    client c{how};
    const auto held = mutex(c, "stock").acquire();
    const auto all = admin::list(c, "*");
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].name.str(), "stock");
}

TEST_P(a_register, answers_each_request_once_when_its_store_is_closed) {
    write(*one, 0, "R");
    std::vector<register_request> all;
    for (int i = 0; i < 20; ++i) {
        all.push_back(one->ask_to_read());
        all.push_back(one->ask_to_change(1, "F"));
    }
    one->close();
    for (const auto& request : all) EXPECT_EQ(request.calls(), 1);
}

TEST(redis, has_no_register) {
    const redis_server server;
    EXPECT_EQ(register_client{server.url()}.its_register(), nullptr);
}

INSTANTIATE_TEST_SUITE_P(, a_register, ::testing::ValuesIn(register_places()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace holdfast::test
