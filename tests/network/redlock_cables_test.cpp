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
    // The longest wait for a reply. Shorter than `reply_timeout`, which must not be what ends a wait.
    static constexpr milliseconds node_timeout = 400ms * slower;
    // A waiter of a redlock asks again by itself, after redis_settings::silent_poll and a random pause.
    static constexpr milliseconds pause = 500ms * slower;

    void SetUp() override {
        machines_with_clients::SetUp();
        if (IsSkipped()) return;
        for (auto& s : servers) s.emplace(reachable_options());
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
    // A client that has met all members.
    [[nodiscard]] machine ready_client() {
        auto m = client_with_five_cables();
        acquire(m);
        EXPECT_TRUE(eventually(patience, [&] { return members_with("stock") == n; }));
        release(m);
        EXPECT_TRUE(eventually(patience, [&] { return members_with("stock") == 0; }));
        return m;
    }
    [[nodiscard]] std::size_t members_with(const std::string& name) {
        return static_cast<std::size_t>(std::count_if(servers.begin(), servers.end(), [&](auto& s) {
            return s->command({"EXISTS", name}).number == 1;
        }));
    }
    // Returns how long a try took until its outcome.
    static milliseconds try_acquire(machine& m, const std::string& expected) {
        send_line(m, "try");
        const auto asked = time_of(m, "asked");
        return std::chrono::ceil<milliseconds>(time_of(m, expected) - asked);
    }
    void every_key_expires() {
        EXPECT_TRUE(eventually(patience, [&] { return members_with("stock") == 0; }));
        for (auto& s : servers) {
            for (const auto& key : s->keys())
                EXPECT_NE(s->command({"PTTL", key}).number, -1) << key << " has no time to live";
        }
    }

    std::array<std::optional<redis_server>, n> servers;
};

TEST_F(five_cables, client_acquires_and_renews_while_one_or_two_are_pulled) {
    auto holder = ready_client();
    auto rival = ready_client();
    for (const std::size_t next : {1U, 3U}) {
        holder.pull(next);
        // The client does not know yet that this member is cut off.
        EXPECT_LE(try_acquire(holder, "got"), node_timeout);
        const auto since = boot_clock::now();
        await_renewals(holder, 4);
        send_line(rival, "try");
        (void)time_of(rival, "asked");
        EXPECT_GT(time_of(rival, "no"), since);
        EXPECT_TRUE(lease_is_valid(holder));
        release(holder);
    }
    holder.plug_in(1);
    holder.plug_in(3);
    EXPECT_LE(try_acquire(rival, "got"), node_timeout);
    release(rival);
    every_key_expires();
}

// A way to cut a cable: to pull it, or to cut one direction alone.
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

// The rival reaches all five. It gets the lock when three servers have forgotten the holder, which knows by
// then: the servers that it still reaches are too few to renew.
TEST_P(three_of_five_cables, cut_holder_learns_of_the_loss_before_a_rival_gets_the_lock) {
    auto holder = ready_client();
    auto rival = ready_client();
    acquire(holder);
    await_renewals(holder, 1);
    send_line(rival, "acquire");
    send_line(holder, "lose");
    cut_off(holder);
    const auto begun = boot_clock::now();
    const auto got = time_of(rival, "got");
    const auto deadline = time_of(holder, "deadline");
    EXPECT_LE(deadline, got) << "two clients held the lock at once";
    EXPECT_LE(time_of(holder, "lost"), deadline + slack) << "the holder learned of the loss late";
    EXPECT_LE(deadline, begun + lease_length);
    // A renewal that was on its way when the cables were cut, or that arrives without a reply, may renew
    // there once more.
    EXPECT_LE(got, begun + lease_length + reply_timeout + pause + slack);
    EXPECT_FALSE(lease_is_valid(holder));

    // A try fails within two timeouts: one for members that do not reply, and one to undo what they may have
    // done.
    EXPECT_LE(try_acquire(holder, "unavailable"), 2 * node_timeout);
    EXPECT_TRUE(lease_is_valid(rival));
    plug_in(holder);
    await_renewals(rival, 1);
    EXPECT_TRUE(lease_is_valid(rival));
    release(rival);
    const auto healed = boot_clock::now();
    EXPECT_LE(acquire(holder), healed + 2 * reply_timeout + pause + slack);
    await_renewals(holder, 1);
    release(holder);
    every_key_expires();
}

TEST_P(three_of_five_cables, no_client_is_served_while_they_are_cut) {
    auto holder = ready_client();
    auto waiter = ready_client();
    acquire(holder);
    send_line(holder, "lose");
    cut_off(holder);
    cut_off(waiter);
    const auto deadline = time_of(holder, "deadline");
    EXPECT_LE(time_of(holder, "lost"), deadline + slack) << "the holder learned of the loss late";
    for (int i = 0; i < 2; ++i) EXPECT_LE(try_acquire(waiter, "unavailable"), 2 * node_timeout);
    plug_in(waiter);
    const auto healed = boot_clock::now();
    const auto got = acquire(waiter);
    EXPECT_GE(got, deadline);
    EXPECT_LE(got, healed + 2 * reply_timeout + pause + slack);
    EXPECT_TRUE(lease_is_valid(waiter));
    release(waiter);
    plug_in(holder);
    every_key_expires();
}

INSTANTIATE_TEST_SUITE_P(each_cut, three_of_five_cables,
                         ::testing::Values(cut{"pulled", &machine::pull, &machine::plug_in},
                                           cut{"mute", &machine::mute, &machine::heal},
                                           cut{"deaf", &machine::deafen, &machine::heal}),
                         [](const auto& one) { return std::string{one.param.name}; });

}  // namespace
}  // namespace holdfast::test
