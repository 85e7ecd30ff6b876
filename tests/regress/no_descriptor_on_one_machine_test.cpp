// All descriptors of the process are in use while its stores on this machine must send messages.
#include "server/cli_scene.hpp"
#include "support/eventually.hpp"
#include "support/no_descriptor.hpp"
#include "support/sanitizers.hpp"

#include <holdfast/holdfast.hpp>

#include <filesystem>
#include <iterator>
#include <string>

#if defined(HOLDFAST_TESTS_WITHOUT_DESCRIPTORS)

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

// The parameter is the scheme of the store.
class no_descriptor_left_on_one_machine : public testing::TestWithParam<const char*> {
  protected:
    [[nodiscard]] config settings(bool keep_evicted = false) const {
        config how;
        how.url = url;
        how.keep_evicted = keep_evicted;
        return how;
    }
    // Starts `holdfast WORDS...` when a line is written to it.
    [[nodiscard]] child_process prepare(const std::string& words) const {
        return child_process{
            {"sh", "-c", "read line && exec \"$0\" --url \"$1\" " + words, HOLDFAST_COMMAND, url}};
    }
    // Clients that others can send messages.
    [[nodiscard]] bool are_listening(std::ptrdiff_t clients) const {
        const bool in_files = std::string{GetParam()} == "file";
        const std::filesystem::path sockets{in_files ? path + "/.holdfast/clients" : path + "-wake"};
        if (!std::filesystem::exists(sockets)) return clients == 0;
        return std::distance(std::filesystem::directory_iterator{sockets}, {}) == clients;
    }

    const temp_dir folder;
    const std::string path = (folder.path() / "locks").string();
    const std::string url = GetParam() + (":" + path);
};

TEST_P(no_descriptor_left_on_one_machine, evicted_client_confirms_that_it_gave_up) {
    for (const bool keep :
         {false, true}) {  // on the reactor's thread at once, or when the caller has released it
        client c{settings(keep)};
        mutex stock{c, "stock"};
        auto held = stock.acquire();
        ASSERT_TRUE(eventually(patience, [&] { return are_listening(1); }));
        auto evictor = prepare("evict --yes --wait 60s stock");
        cli::outcome end;
        {
            const no_descriptor_is_left now;
            evictor.write("go\n");
            EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
            (void)held.release();
            end = cli::outcome_of(evictor);
        }
        EXPECT_EQ(end.code, 0) << end.errors;
        EXPECT_NE((end.output + end.errors).find("gave it up"), std::string::npos)
            << end.output << end.errors;
        EXPECT_TRUE(stock.try_acquire_for(patience));
    }
}

TEST_P(no_descriptor_left_on_one_machine, released_lock_goes_to_a_waiter_of_another_process) {
    client c{settings()};
    mutex stock{c, "stock"};
    auto held = stock.acquire();
    ASSERT_TRUE(eventually(patience, [&] { return are_listening(1); }));
    auto waiter = prepare("run stock -- true");
    waiter.write("go\n");
    if (std::string{GetParam()} == "sqlite") {
        ASSERT_TRUE(eventually(
            patience, [&] { return are_listening(2) && admin::inspect(c, "stock").queue.size() == 1; }));
    }
    {
        const no_descriptor_is_left now;
        EXPECT_EQ(held.release(), release_outcome::released);
    }
    const auto end = cli::outcome_of(waiter);
    EXPECT_EQ(end.code, 0) << end.errors;
}

TEST_P(no_descriptor_left_on_one_machine, client_listens_as_soon_as_there_is_a_descriptor) {
    if (std::string{GetParam()} == "file") GTEST_SKIP() << "there a lock needs a descriptor itself";
    auto how = settings();
    how.lease = 600ms * slower;
    client c{how};
    mutex stock{c, "stock"};
    {
        const no_descriptor_is_left now;
        const auto held = stock.acquire();
        // A client listens when it has held a lock for a while, and it renews later.
        ASSERT_TRUE(eventually(patience, [&] { return c.stats().renewals >= 1; }));
    }
    EXPECT_TRUE(are_listening(0));
    const auto held = stock.acquire();
    EXPECT_TRUE(eventually(patience, [&] { return are_listening(1); }));
}

INSTANTIATE_TEST_SUITE_P(stores, no_descriptor_left_on_one_machine, testing::Values("file", "sqlite"),
                         [](const auto& given) { return std::string{given.param}; });

}  // namespace
}  // namespace holdfast::test

#endif
