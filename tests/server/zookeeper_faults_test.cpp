// Locks in a ZooKeeper ensemble, when something happens to a server, a connection or a client.
#include "server/zookeeper_scene.hpp"
#include "support/background.hpp"
#include "support/child_process.hpp"
#include "support/errors.hpp"
#include "support/event_recorder.hpp"

namespace holdfast::test {
namespace {

// The servers derive a session's password from its id: java.util.Random with a known seed.
std::string password_of(std::int64_t session) {
    constexpr std::uint64_t secret = 0xB3415C00;
    constexpr std::uint64_t mask = (std::uint64_t{1} << 48U) - 1;
    auto seed = ((static_cast<std::uint64_t>(session) ^ secret) ^ 0x5DEECE66DU) & mask;
    std::string password;
    while (password.size() < 16) {
        seed = (seed * 0x5DEECE66DU + 0xBU) & mask;
        auto bits = static_cast<std::uint32_t>(seed >> 16U);
        for (int i = 0; i < 4; ++i, bits >>= 8U) password += static_cast<char>(bits & 0xffU);
    }
    return password;
}

// Takes the session over and closes it.
void end_session(std::uint16_t port, std::int64_t session) {
    const auto to = connect_to(port);
    const auto both =
        zk::frame_of_login({.timeout_ms = 30'000, .session = session, .password = password_of(session)}) +
        zk::frame(1, {zk::op::close, {}});
    ASSERT_EQ(::send(to.get(), both.data(), both.size(), MSG_NOSIGNAL), static_cast<ssize_t>(both.size()));
    std::array<char, 1024> bytes;
    while (::read(to.get(), bytes.data(), bytes.size()) > 0) {
    }
}

// --- sessions ---------------------------------------------------------------------------------------------

TEST_F(zookeeper_locks, are_lost_when_their_session_was_ended_by_another_connection) {
    const auto c = new_client();
    event_recorder events{*c};
    mutex stock{*c, "stock"};
    const auto held = stock.acquire();
    const auto session = session_of("stock");
    // The server may drop a request that comes with the login, so it is repeated.
    ASSERT_TRUE(eventually(patience, [&] {
        end_session(servers->port(), session);
        try {
            return session_of("stock") != session;
        } catch (const std::runtime_error&) {
            return false;
        }
    }));
    EXPECT_TRUE(events.next(event_kind::lost));
    EXPECT_FALSE(held.valid());
    EXPECT_TRUE(stock.try_acquire_for(patience)) << "in a new session";
}

TEST_F(zookeeper_locks, are_held_through_a_short_outage_of_the_server) {
    const auto c = new_client(30s);
    event_recorder events{*c};
    mutex stock{*c, "stock"};
    auto held = stock.acquire();
    servers->stop();
    ASSERT_TRUE(events.next(event_kind::store_down));
    EXPECT_TRUE(held.valid());
    std::error_code why;
    EXPECT_FALSE(mutex(*c, "other").try_acquire(why));
    EXPECT_EQ(why, condition::try_later);
    servers->start();
    ASSERT_TRUE(events.next(event_kind::store_up));
    const auto other = new_client();
    EXPECT_FALSE(mutex(*other, "stock").try_acquire());
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(mutex(*other, "stock").try_acquire());
}

TEST_F(zookeeper_locks, that_are_released_during_an_outage_are_no_loss) {
    auto how = settings_for(servers->url(), 30s);
    how.answer_timeout = 30s;
    client c{how};
    event_recorder events{c};
    auto held = mutex(c, "stock").acquire();
    servers->stop();
    ASSERT_TRUE(events.next(event_kind::store_down));
    auto outcome = in_background([&] { return held.release(); });
    std::stop_source enough;
    // The client is connected again while the release pauses between two attempts.
    auto other = in_background([&, until = enough.get_token()] {
        std::error_code why;
        while (!until.stop_requested()) (void)mutex(c, "other").try_acquire(why);
    });
    servers->start();
    EXPECT_EQ(outcome.get(), release_outcome::released);
    enough.request_stop();
    other.get();
    EXPECT_TRUE(mutex(c, "stock").try_acquire());
}

// The server would give the sessions their whole time-out when it goes on, but a holder cannot know that.
TEST_F(zookeeper_locks, are_lost_in_time_while_the_server_is_stopped) {
    const auto c = new_client(2s);
    mutex stock{*c, "stock"};
    const auto held = stock.acquire();
    servers->pause();
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    EXPECT_FALSE(held.valid());
    servers->resume();
    const auto other = new_client();
    EXPECT_TRUE(mutex(*other, "stock").try_acquire_for(patience));
}

// A ttl may be longer than a session, but no lease is valid beyond what the session was proved for.
TEST_F(zookeeper_locks, with_a_long_ttl_are_lost_in_time_while_the_server_is_stopped) {
    const auto c = new_client(2s);
    const auto held = mutex(*c, "stock").acquire({.ttl = 10min});
    const auto permits = counting_semaphore(*c, "seats", {.total = 2}).acquire({.ttl = 10min, .permits = 2});
    servers->pause();
    EXPECT_TRUE(eventually(patience, [&] {
        return held.lost_token().stop_requested() && permits.lost_token().stop_requested();
    }));
    EXPECT_FALSE(held.valid());
    EXPECT_FALSE(permits.valid());
    servers->resume();
}

TEST_F(zookeeper_locks, of_a_stopped_client_are_free_after_its_session_and_invalid_when_it_goes_on) {
    auto holder = child_process::fork_call([url = servers->url()](const parent_link& parent) {
        client c{settings_for(url, 2s)};
        const auto held = mutex(c, "stock").acquire();
        parent.report("held");
        (void)parent.await_line();
        return held.valid() ? 1 : 0;
    });
    ASSERT_TRUE(holder.wait_for_output("held", patience)) << holder.errors();
    holder.pause();
    const auto c = new_client();
    const auto mine = mutex(*c, "stock").try_acquire_for(patience);
    EXPECT_TRUE(mine.valid());
    holder.resume();
    holder.write("\n");
    EXPECT_EQ(holder.wait(patience), 0) << "it took its lease for valid";
}

TEST_F(zookeeper_locks, of_a_closed_client_are_free_at_once) {
    auto holder = new_client(30s);
    const auto c = new_client();
    mutex stock{*c, "stock"};
    {
        mutex theirs{*holder, "stock"};
        theirs.lock();
        auto waiter = in_background([&] { return stock.acquire(); });
        theirs.unlock();
        EXPECT_TRUE(waiter.get().valid());
    }
    const auto kept = mutex(*holder, "stock").acquire();
    holder.reset();
    EXPECT_TRUE(stock.try_acquire_for(5s * slower));
}

// --- lost answers -----------------------------------------------------------------------------------------

TEST_F(zookeeper_answers, of_a_creation_that_are_lost_leave_one_node) {
    mutex stock{*through, "stock"};
    lose(zk::op::create);
    auto held = stock.acquire();
    EXPECT_EQ(losses.lost(), 1U);
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(nodes(), 1U);
    const auto other = new_client();
    EXPECT_FALSE(mutex(*other, "stock").try_acquire());
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_EQ(nodes(), 0U);
}

TEST_F(zookeeper_answers, of_a_creation_by_the_names_of_kazoo_that_are_lost_leave_one_node) {
    client c{
        settings_for("zk://127.0.0.1:" + std::to_string(to_server->port()) + "?tick=200ms&names=kazoo", 30s)};
    mutex stock{c, "stock"};
    lose(zk::op::create);
    auto held = stock.acquire();
    EXPECT_EQ(losses.lost(), 1U);
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(nodes(), 1U);
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_EQ(nodes(), 0U);
}

TEST_F(zookeeper_answers, of_a_creation_in_the_queue_that_are_lost_keep_the_place) {
    const auto other = new_client(30s);
    auto held = mutex(*other, "stock").acquire();
    lose(zk::op::create);
    auto waiter = in_background([&] { return mutex(*through, "stock").acquire(); });
    ASSERT_TRUE(eventually(patience, [&] { return losses.lost() == 1 && nodes() == 2; }));
    held.release();
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_EQ(nodes(), 0U) << "the waiter's lease has ended, too";
}

TEST_F(zookeeper_answers, of_a_deletion_that_are_lost_are_no_loss) {
    auto held = mutex(*through, "stock").acquire();
    lose(zk::op::remove);
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_EQ(losses.lost(), 1U);
    EXPECT_EQ(nodes(), 0U);
}

// A proof without an answer proves nothing, and takes nothing away.
TEST_F(zookeeper_answers, of_a_check_that_are_lost_lose_no_lease) {
    const auto held = mutex(*through, "stock").acquire();
    for (int i = 0; i < 2; ++i) {
        const auto before = losses.lost();
        lose(zk::op::multi);
        ASSERT_TRUE(eventually(patience, [&] { return losses.lost() > before; }));
    }
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(nodes(), 1U);
}

// --- an ensemble ------------------------------------------------------------------------------------------

TEST_F(zookeeper_ensembles, keep_locks_when_the_leader_is_killed) {
    const auto c = new_client(30s);
    mutex stock{*c, "stock"};
    auto held = stock.acquire();
    servers->stop(servers->leader());
    const auto other = new_client();
    std::error_code why;
    EXPECT_TRUE(eventually(patience, [&] {
        EXPECT_FALSE(mutex(*other, "stock").try_acquire(why));
        return !why;
    })) << "a new leader serves";
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(mutex(*other, "stock").try_acquire_for(patience));
}

TEST_F(zookeeper_ensembles, exclude_each_other_while_the_leader_is_stopped_and_resumed) {
    const auto c = new_client(2s);
    mutex stock{*c, "stock"};
    const auto held = stock.acquire();
    const auto old = servers->leader();
    servers->pause(old);
    // Whoever is granted the lock next finds the first lease at its end.
    const auto other = new_client(2s);
    std::error_code why;
    lease next;
    EXPECT_TRUE(eventually(patience, [&] {
        next = mutex(*other, "stock").try_acquire_for(1s, why);
        if (next) {
            EXPECT_FALSE(held.valid());
        }
        return static_cast<bool>(next) || held.valid();
    }));
    servers->resume(old);
    EXPECT_FALSE(held.valid() && next.valid());
}

TEST_F(zookeeper_ensembles, lose_locks_in_time_without_a_quorum) {
    const auto c = new_client(2s);
    mutex stock{*c, "stock"};
    const auto held = stock.acquire();
    const auto leader = servers->leader();
    std::vector<std::size_t> down;
    for (std::size_t n = 0; n < 3; ++n)
        if (n != leader) down.push_back(n);
    for (const auto n : down) servers->stop(n);
    EXPECT_TRUE(eventually(patience, [&] { return held.lost_token().stop_requested(); }));
    for (const auto n : down) servers->start(n, false);
    EXPECT_TRUE(stock.try_acquire_for(patience));
}

// --- a follower that is cut off from its leader -----------------------------------------------------------

// The follower goes on answering, but the leader ends the session.
TEST_F(zookeeper_cut_followers, do_not_keep_leases_valid) {
    client at_follower{settings_for(url_of(follower), 4s)};
    zookeeper_client reader{servers->port(follower)};  // a new session needs the leader
    const auto held = mutex(at_follower, "stock").acquire();
    servers->cut_between(leader, follower);
    client at_leader{settings_for(url_of(leader), 4s)};
    const auto next = mutex(at_leader, "stock").try_acquire_for(patience);
    EXPECT_FALSE(held.valid());
    EXPECT_TRUE(next);
    EXPECT_EQ(reader.children("/locks/stock").size(), 1U)
        << "the follower still serves, and shows the node of the first holder";
}

// Why a lease must not be believed because its server answers.
TEST_F(zookeeper_cut_followers, mislead_a_client_that_trusts_their_answers) {
    constexpr auto timeout = 4s;
    zookeeper_client careless{servers->port(follower), {.timeout_ms = timeout / 1ms}};
    for (const auto* const path : {"/locks", "/locks/stock"})
        careless.ask(zk::create(path, "", zk::lifetime::container, zk::access::anyone));
    const auto own = zk::parse_created(
        careless.ask(zk::create("/locks/stock/_c_11111111-2222-4333-8444-555555555555-lock-", "",
                                zk::lifetime::ephemeral_sequential, zk::access::anyone)));
    ASSERT_TRUE(own);
    servers->cut_between(leader, follower);
    client at_leader{settings_for(url_of(leader), 4s)};
    auto next = in_background([&] { return mutex(at_leader, "stock").try_acquire_for(patience); });
    // It reads its own node, and takes each answer for a proof of its session.
    boot_clock::time_point last_answer;
    const auto granted = [&] { return next.wait_for(0s) == std::future_status::ready; };
    EXPECT_TRUE(eventually(patience, [&] {
        const auto asked = boot_clock::now();
        careless.ask(zk::get_data(own->path, zk::watch::no));
        if (careless.last == zk::code::ok && !granted()) last_answer = asked;
        return granted();
    }));
    const auto second = next.get();
    EXPECT_TRUE(second.valid());
    EXPECT_GT(last_answer + timeout, boot_clock::now()) << "two holders";
}

}  // namespace
}  // namespace holdfast::test
