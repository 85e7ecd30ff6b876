#include "fallback/file_source.hpp"

#include "support/eventually.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace holdfast::fallback {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using test::eventually;
using test::patience;

class switch_file : public ::testing::Test {
  protected:
    void write(const std::string& text) const {
        const auto beside = file.string() + ".new";
        std::ofstream{beside} << text;
        fs::permissions(beside, fs::perms{0644});
        fs::rename(beside, file);
    }
    void open() {
        source = std::make_unique<file_source>(reactor, file.string(), [this](const fallback::told& what) {
            const std::lock_guard hold{mutex};
            if (const auto* const d = std::get_if<document>(&what)) {
                const auto of = d->groups.find("default");
                told.push_back(of == d->groups.end()       ? "nothing"
                               : of->second == mode::store ? "store"
                                                           : "fallback");
            } else if (const auto* const bad = std::get_if<bad_document>(&what)) {
                told.push_back("bad " + bad->field);
            } else if (std::holds_alternative<readable>(what)) {
                told.push_back("again");
            } else {
                told.push_back("unreadable");
            }
        });
    }
    [[nodiscard]] std::vector<std::string> so_far() {
        const std::lock_guard hold{mutex};
        return told;
    }
    // All that was told, once the last of it is there.
    void expect(const std::vector<std::string>& all) {
        EXPECT_TRUE(eventually(patience, [&] { return so_far().size() >= all.size(); }));
        EXPECT_EQ(so_far(), all);
    }

    const test::temp_dir folder;
    const fs::path file = folder.path() / "switch";
    std::mutex mutex;
    std::vector<std::string> told;
    io::reactor reactor;
    std::unique_ptr<file_source> source;
};

const std::string off = "distributed.lock.use-redis=false";
const std::string on = "distributed.lock.use-redis=true";

TEST_F(switch_file, is_read_before_the_constructor_returns) {
    write(off);
    open();
    EXPECT_EQ(so_far(), std::vector<std::string>{"fallback"});
}

TEST_F(switch_file, is_read_again_when_it_is_replaced_or_written) {
    write(off);
    open();
    write(on);
    expect({"fallback", "store"});
    std::ofstream{file} << off;
    expect({"fallback", "store", "fallback"});
}

TEST_F(switch_file, is_told_once_if_nothing_is_new) {
    write(off);
    open();
    write(off);
    write(off);
    write(on);
    expect({"fallback", "store"});
}

TEST_F(switch_file, that_is_bad_is_told_and_may_be_mended) {
    write("nonsense");
    open();
    EXPECT_EQ(so_far(), std::vector<std::string>{"bad "});
    write(off);
    expect({"bad ", "fallback"});
    write(R"({"holdfast": 1, "serial": "x"})");
    expect({"bad ", "fallback", "bad serial"});
}

TEST_F(switch_file, may_be_missing_and_come_and_go) {
    open();
    EXPECT_EQ(so_far(), std::vector<std::string>{"unreadable"});
    write(off);
    expect({"unreadable", "fallback"});
    fs::remove(file);
    expect({"unreadable", "fallback", "unreadable"});
    write(off);
    expect({"unreadable", "fallback", "unreadable", "again"});
    fs::remove(file);
    expect({"unreadable", "fallback", "unreadable", "again", "unreadable"});
    write(on);
    expect({"unreadable", "fallback", "unreadable", "again", "unreadable", "store"});
}

TEST_F(switch_file, that_others_may_write_is_not_believed) {
    write(off);
    fs::permissions(file, fs::perms{0666});
    open();
    EXPECT_EQ(so_far(), std::vector<std::string>{"unreadable"});
    fs::permissions(file, fs::perms{0644});
    expect({"unreadable", "fallback"});
}

TEST_F(switch_file, may_be_what_kubernetes_makes_of_a_config_map) {
    const auto version = [&](const std::string& name, const std::string& text) {
        fs::create_directory(folder.path() / name);
        std::ofstream{folder.path() / name / "switch"} << text;
        fs::permissions(folder.path() / name / "switch", fs::perms{0644});
        fs::create_directory_symlink(name, folder.path() / "..data_tmp");
        fs::rename(folder.path() / "..data_tmp", folder.path() / "..data");
    };
    version("..1", off);
    fs::create_symlink("..data/switch", file);
    open();
    version("..2", on);
    fs::remove_all(folder.path() / "..1");
    expect({"fallback", "store"});
}

TEST_F(switch_file, that_is_older_than_the_last_is_bad) {
    const auto document = [](int serial, const std::string& mode) {
        return R"({"holdfast": 1, "serial": )" + std::to_string(serial) +
               R"(, "groups": {"default": {"mode": ")" + mode + R"("}}})";
    };
    write(document(5, "fallback"));
    open();
    write(document(4, "redis"));
    expect({"fallback", "bad serial"});
    write(document(6, "redis"));
    expect({"fallback", "bad serial", "store"});
}

}  // namespace
}  // namespace holdfast::fallback
