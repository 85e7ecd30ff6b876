// A redlock of five servers. A client has a cable to each of them; it goes on without two, and not without
// three.
#include "network/scene.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace holdfast::test {
namespace {

class five_cables : public machines_with_clients {
  protected:
    static constexpr std::size_t n = 5;
    // No answer is waited for longer. Shorter than `silence`, which must not be what ends a wait.
    static constexpr milliseconds node_timeout = 400ms * slower;
    // A waiter of a redlock asks again by itself, after config::silent_poll and a random pause.
    static constexpr milliseconds pause = 500ms * slower;

    void SetUp() override {
        machines_with_clients::SetUp();
        if (IsSkipped()) return;
        for (auto& s : servers) s.emplace(for_all());
    }

    [[nodiscard]] machine client_with_five_cables() const {
        return client_on_a_machine(
            [this](const addresses& a) {
                auto all =
                    "redlock:restarts=trusted,node_timeout=" + std::to_string(node_timeout.count()) + "ms";
                for (std::size_t i = 0; i < n; ++i) all += "," + url_of(a.at(i), servers.at(i)->port());
                return all;
            },
            lease_length, n);
    }
    // One that has met all members.
    [[nodiscard]] machine ready_client() {
        auto m = client_with_five_cables();
        take(m);
        EXPECT_TRUE(eventually(patience, [&] { return members_with("stock") == n; }));
        give_back(m);
        EXPECT_TRUE(eventually(patience, [&] { return members_with("stock") == 0; }));
        return m;
    }
    [[nodiscard]] std::size_t members_with(const std::string& name) {
        return static_cast<std::size_t>(std::count_if(servers.begin(), servers.end(), [&](auto& s) {
            return s->command({"EXISTS", name}).number == 1;
        }));
    }
    // How long it took until it was said what came of it.
    static milliseconds ask(machine& m, const std::string& expected) {
        tell(m, "try");
        const auto asked = said(m, "asked");
        return std::chrono::ceil<milliseconds>(said(m, expected) - asked);
    }
    void nothing_is_left_that_stays() {
        EXPECT_TRUE(eventually(patience, [&] { return members_with("stock") == 0; }));
        for (auto& s : servers) {
            for (const auto& key : s->keys())
                EXPECT_NE(s->command({"PTTL", key}).number, -1) << key << " has no time to live";
        }
    }

    std::array<std::optional<redis_server>, n> servers;
};

TEST_F(five_cables, of_which_one_and_then_two_are_pulled_are_enough_to_acquire_and_to_renew) {
    auto holder = ready_client();
    auto rival = ready_client();
    for (const std::size_t next : {1U, 3U}) {
        holder.pull(next);
        // None of those that are cut off has yet been found out.
        EXPECT_LE(ask(holder, "got"), node_timeout);
        const auto since = boot_clock::now();
        await_renewals(holder, 4);
        tell(rival, "try");
        (void)said(rival, "asked");
        EXPECT_GT(said(rival, "no"), since);
        EXPECT_TRUE(believes(holder));
        give_back(holder);
    }
    holder.plug_in(1);
    holder.plug_in(3);
    EXPECT_LE(ask(rival, "got"), node_timeout);
    give_back(rival);
    nothing_is_left_that_stays();
}

// As it is pulled, and in either direction alone.
struct cut {
    const char* name;
    void (machine::*begin)(std::size_t);
    void (machine::*end)(std::size_t);

    friend void PrintTo(const cut& c, std::ostream* out) { *out << c.name; }
};

class three_of_five_cables : public five_cables, public ::testing::WithParamInterface<cut> {
  protected:
    static constexpr std::initializer_list<std::size_t> most{0, 2, 4};

    static void cut_off(machine& m) {
        for (const auto i : most) (m.*GetParam().begin)(i);
    }
    static void plug_in(machine& m) {
        for (const auto i : most) (m.*GetParam().end)(i);
    }
};

// The rival sees all five. It gets the lock when three servers have forgotten the holder, who has been told
// by then: those that it still reaches are too few to renew.
TEST_P(three_of_five_cables, cut_a_holder_off_that_is_told_at_its_deadline_and_before_a_rival_has_the_lock) {
    auto holder = ready_client();
    auto rival = ready_client();
    take(holder);
    await_renewals(holder, 1);
    tell(rival, "acquire");
    tell(holder, "lose");
    cut_off(holder);
    const auto begun = boot_clock::now();
    const auto got = said(rival, "got");
    const auto deadline = said(holder, "deadline");
    EXPECT_LE(deadline, got) << "two had it at once";
    EXPECT_LE(said(holder, "lost"), deadline + slack) << "the holder was told late";
    EXPECT_LE(deadline, begun + lease_length);
    // What was on its way when the cables were cut, or is heard by the servers alone, may renew there once
    // more.
    EXPECT_LE(got, begun + lease_length + silence + pause + slack);
    EXPECT_FALSE(believes(holder));

    // It cannot have it, and is told so: once for members that do not answer, and once to undo what they may
    // have done.
    EXPECT_LE(ask(holder, "unavailable"), 2 * node_timeout);
    EXPECT_TRUE(believes(rival));
    plug_in(holder);
    await_renewals(rival, 1);
    EXPECT_TRUE(believes(rival));
    give_back(rival);
    const auto healed = boot_clock::now();
    EXPECT_LE(take(holder), healed + 2 * silence + pause + slack);
    await_renewals(holder, 1);
    give_back(holder);
    nothing_is_left_that_stays();
}

TEST_P(three_of_five_cables, cut_off_from_all_clients_serve_nobody_until_they_are_back) {
    auto holder = ready_client();
    auto waiter = ready_client();
    take(holder);
    tell(holder, "lose");
    cut_off(holder);
    cut_off(waiter);
    const auto deadline = said(holder, "deadline");
    EXPECT_LE(said(holder, "lost"), deadline + slack) << "the holder was told late";
    for (int i = 0; i < 2; ++i) EXPECT_LE(ask(waiter, "unavailable"), 2 * node_timeout);
    plug_in(waiter);
    const auto healed = boot_clock::now();
    const auto got = take(waiter);
    EXPECT_GE(got, deadline);
    EXPECT_LE(got, healed + 2 * silence + pause + slack);
    EXPECT_TRUE(believes(waiter));
    give_back(waiter);
    plug_in(holder);
    nothing_is_left_that_stays();
}

INSTANTIATE_TEST_SUITE_P(that_are, three_of_five_cables,
                         ::testing::Values(cut{"pulled", &machine::pull, &machine::plug_in},
                                           cut{"mute", &machine::mute, &machine::heal},
                                           cut{"deaf", &machine::deafen, &machine::heal}),
                         [](const auto& one) { return std::string{one.param.name}; });

}  // namespace
}  // namespace holdfast::test
