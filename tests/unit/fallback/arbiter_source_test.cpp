// Documents in a register, and what publishing refuses. The register is in a file.
#include "fallback/arbiter_source.hpp"

#include "backends/registry.hpp"
#include "fallback/open_source.hpp"
#include "fallback/publish.hpp"
#include "support/errors.hpp"
#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace holdfast::fallback {
namespace {

using namespace std::chrono_literals;

std::string document_with(int serial, const std::string& mode) {
    return R"({"holdfast": 1, "serial": )" + std::to_string(serial) +
           R"(, "groups": {"default": {"mode": ")" + mode + R"("}}})";
}

class arbiter_source_test : public ::testing::Test {
  protected:
    [[nodiscard]] std::string address(const std::string& options = {}) const {
        return "arbiter:" + options + "file:" + (folder.path() / "arbiter").string();
    }
    [[nodiscard]] std::unique_ptr<arbiter_document> opened(const std::string& options = {}) {
        return std::make_unique<arbiter_document>(reactor, settings, address(options), backends::open);
    }
    bool publish_text(const std::string& text, const std::string& options = {}) {
        const auto to = opened(options);
        return publish(reactor, *to, text, 2s);
    }
    void read_it() {
        source = std::make_unique<arbiter_source>(
            reactor, opened(), test::patience, 2s, 10ms, [this](const fallback::told& what) {
                const std::lock_guard hold{mutex};
                if (const auto* const d = std::get_if<document>(&what))
                    told.push_back(std::to_string(d->serial.value_or(0)));
                else if (const auto* const bad = std::get_if<bad_document>(&what))
                    told.push_back("bad " + bad->field);
                else if (const auto* const no = std::get_if<unreadable>(&what))
                    told.push_back(no->why);
                else
                    told.push_back("again");
            });
    }
    // All that was told, once the last of it is there.
    void expect(const std::vector<std::string>& all) {
        const auto so_far = [&] {
            const std::lock_guard hold{mutex};
            return told;
        };
        EXPECT_TRUE(test::eventually(test::patience, [&] { return so_far().size() >= all.size(); }));
        EXPECT_EQ(so_far(), all);
    }
    [[nodiscard]] static std::string refused(const std::function<void()>& what) {
        EXPECT_EQ(test::code_of(what), errc::invalid_argument);
        return test::message_of(what);
    }

    const test::temp_dir folder;
    const config settings;
    io::reactor reactor;
    std::mutex mutex;
    std::vector<std::string> told;
    std::unique_ptr<arbiter_source> source;
};

TEST_F(arbiter_source_test, tells_what_is_published) {
    read_it();
    expect({"nobody has published a document there"});
    EXPECT_TRUE(publish_text(document_with(7, "fallback")));
    expect({"nobody has published a document there", "7"});
    EXPECT_FALSE(publish_text(document_with(7, "fallback"))) << "it is there already";
    EXPECT_TRUE(publish_text(document_with(8, "redis")));
    expect({"nobody has published a document there", "7", "8"});
}

TEST_F(arbiter_source_test, has_read_once_when_it_is_made) {
    (void)publish_text(document_with(1, "redis"));
    read_it();
    const std::lock_guard hold{mutex};
    EXPECT_EQ(told, std::vector<std::string>{"1"});
}

// The register is in the same file, but another one.
TEST_F(arbiter_source_test, reads_the_document_of_its_name) {
    (void)publish_text(document_with(9, "redis"), "name=shop,");
    read_it();
    expect({"nobody has published a document there"});
}

TEST_F(arbiter_source_test, keeps_the_last_good_document) {
    (void)publish_text(document_with(3, "redis"));
    read_it();
    const auto to = opened();
    const auto write = [&](const std::string& text) {
        std::promise<arbiter_document::answer> done;
        reactor.post([&] {
            to->read(boot_clock::now() + 2s, [&](const arbiter_document::answer& now) {
                to->write(std::get<backend::register_value>(now), text, boot_clock::now() + 2s,
                          [&](arbiter_document::answer a) { done.set_value(std::move(a)); });
            });
        });
        (void)done.get_future().get();
    };
    write("{not json");
    expect({"3", "bad "});
    write(document_with(2, "fallback"));
    expect({"3", "bad ", "bad serial"});
    // What others have spoilt, a good document mends.
    EXPECT_TRUE(publish_text(document_with(4, "redis")));
    expect({"3", "bad ", "bad serial", "4"});
}

TEST_F(arbiter_source_test, publishing_refuses_what_clients_would_refuse) {
    const auto why = [&](const std::string& text) { return refused([&] { (void)publish_text(text); }); };
    EXPECT_NE(why(document_with(1, "sideways")).find("groups.default.mode must be one of"),
              std::string::npos);
    EXPECT_NE(why("").find("is empty"), std::string::npos);
    EXPECT_NE(why(std::string(9'000, ' ')).find("larger than 8 KiB"), std::string::npos);
    (void)publish_text(document_with(5, "redis"));
    EXPECT_NE(why(document_with(4, "fallback")).find("serial is lower"), std::string::npos);
    EXPECT_NE(why(document_with(5, "fallback")).find("serial is that of the last"), std::string::npos);
    // Clients that know number 5 would refuse all later ones below it, and clients that begin would not.
    EXPECT_NE(why("distributed.lock.use-redis=false").find("serial is missing"), std::string::npos);
    read_it();
    expect({"5"});
}

TEST_F(arbiter_source_test, publishing_does_not_overwrite_what_it_has_not_read) {
    const auto a = opened();
    const auto b = opened();
    std::promise<arbiter_document::answer> late;
    reactor.post([&] {
        const auto until = boot_clock::now() + 2s;
        a->write({}, document_with(2, "redis"), until, [&, until](const arbiter_document::answer&) {
            b->write({}, document_with(1, "fallback"), until,
                     [&](arbiter_document::answer got) { late.set_value(std::move(got)); });
        });
    });
    const auto got = late.get_future().get();
    EXPECT_EQ(std::get<backend::register_value>(got).text, document_with(2, "redis"));
}

TEST_F(arbiter_source_test, address_names_a_store_and_a_document) {
    EXPECT_EQ(parse_arbiter("arbiter:zk://h1,h2/x").url, "zk://h1,h2/x");
    EXPECT_EQ(parse_arbiter("arbiter:name=shop,zk://h1,h2/x").register_name(), "holdfast.switch.shop");
    EXPECT_EQ(name_of_source("arbiter:name=shop,postgres://li:secret@db/locks?x=y"),
              "arbiter:name=shop,postgres://db/locks");
    for (const auto* const wrong : {"arbiter:", "arbiter:name=shop", "arbiter:name=,zk://h",
                                    "arbiter:name=a b,zk://h", "arbiter:secret"})
        EXPECT_EQ(refused([&] { (void)parse_arbiter(wrong); }).find("secret"), std::string::npos);
    config how;
    how.switch_source = "arbiter:redis://:secret@127.0.0.1:1";
    const auto said = refused([&] { (void)open_source(reactor, how, backends::open, [](const auto&) {}); });
    EXPECT_NE(said.find("cannot be redis://127.0.0.1:1"), std::string::npos) << said;
}

}  // namespace
}  // namespace holdfast::fallback
