// Users who may not do everything (hazards 36 and 37).
#include "server/scene.hpp"

#include <atomic>

namespace holdfast::test {
namespace {

redis_server::options with_users() {
    redis_server::options o;
    o.users = {
        "silent on >pw ~* resetchannels +@all",  // no channels at all
        "narrow on >pw ~job* &* +@all",          // no key but the lock's
        "unscripted on >pw ~* &* +@all -eval -evalsha",
        "elsewhere on >pw ~other* &* +@all",
        "plain on >pw ~* &* +@all",
        "eternal on >pw ~* &* +@all -pexpire",
        "partial on >pw ~job ~other ~holdfast:* &* +@all",
        "unlisting on >pw ~* &* +@all -zadd",
        "uncounting on >pw ~* &* +@all -incrby",
        "unmarking on >pw ~job %R~{job}* &* +@all",
        "unlengthening on >pw ~* &* +@all -pexpire",
        "unsetting on >pw ~* &* +@all -set",
        "unwriting on >pw ~* &* +@all -hsetnx -hset",
        "blind on >pw ~* &* +@all -client|list",
    };
    return o;
}

class rights : public ::testing::Test {
  protected:
    std::string url_of(const std::string& user, const std::string& password = "pw") {
        return "redis://" + user + ":" + password + "@127.0.0.1:" + std::to_string(server.port());
    }
    redis_server server{with_users()};
};

template <class Kind>
class rights_of : public rights {
  protected:
    // Two clients of this user take turns and are never inside together.
    void expect_exclusive_and_live(const std::string& user, int rounds) {
        std::atomic<int> inside{0};
        std::vector<std::future<void>> all;
        for (int i = 0; i < 2; ++i) {
            all.push_back(in_background([&] {
                client c{url_of(user)};
                auto lock = Kind::make(c, "job");
                for (int n = 0; n < rounds; ++n) {
                    lease held = lock.try_acquire_for(patience);
                    EXPECT_TRUE(held.valid());
                    EXPECT_EQ(inside.fetch_add(1), 0);
                    inside.fetch_sub(1);
                    EXPECT_EQ(held.release(), release_outcome::released);
                }
            }));
        }
        for (auto& a : all) a.get();
        EXPECT_FALSE(exists(server, "job"));
    }
    // The waiter gets the lock soon, though no message can reach it.
    static void expect_found_by_polling(lease& held, std::future<lease>& waiter) {
        EXPECT_FALSE(ready(waiter, 100ms));
        const stopwatch since;
        EXPECT_EQ(held.release(), release_outcome::released);
        lease got = waiter.get();
        EXPECT_TRUE(got.valid());
        EXPECT_LT(since.took(), slack);
        EXPECT_EQ(got.release(), release_outcome::released);
    }
};
TYPED_TEST_SUITE(rights_of, all_kinds, kind_names);

TYPED_TEST(rights_of, user_without_channels_polls_and_gets_an_event) {
    client c{this->url_of("silent")};
    client d{this->url_of("silent")};
    event_recorder events{d};
    auto lock = TypeParam::make(c, "job");
    auto others = TypeParam::make(d, "job");
    lease held = lock.acquire();
    auto waiter = waiter_for(others);
    EXPECT_TRUE(events.has(event_kind::no_channel_right));
    this->expect_found_by_polling(held, waiter);
    this->expect_exclusive_and_live("silent", 10);
}

TYPED_TEST(rights_of, user_without_the_helper_keys_locks_without_a_queue) {
    if constexpr (std::is_same_v<TypeParam, fenced> || std::is_same_v<TypeParam, fair>) {
        // A fence without its counter would be a lie, and so would fairness without a queue.
        client c{this->url_of("narrow")};
        auto lock = TypeParam::make(c, "job");
        EXPECT_EQ(code_of([&] { (void)lock.try_lock(); }), errc::no_permission);
        EXPECT_FALSE(exists(this->server, "job"));
    } else {
        client c{this->url_of("narrow")};
        client d{this->url_of("narrow")};
        auto lock = TypeParam::make(c, "job");
        auto others = TypeParam::make(d, "job");
        lease held = lock.acquire();
        auto waiter = waiter_for(others);
        this->expect_found_by_polling(held, waiter);
        this->expect_exclusive_and_live("narrow", 10);
    }
}

TYPED_TEST(rights_of, user_without_the_helper_keys_can_evict) {
    client c{this->url_of("narrow")};
    client everything{this->server.url()};
    auto lock = TypeParam::make(everything, "job");
    lease held = lock.acquire();
    EXPECT_TRUE(evict(c, "job"));
    EXPECT_FALSE(exists(this->server, "job"));
}

// Unknown is not no.
TEST_F(rights, user_who_may_not_list_clients_does_not_report_them_gone) {
    auto holder = std::make_unique<client>(url_of("plain"));
    mutex lock{*holder, "job"};
    const auto held = lock.acquire({.ttl = 30s});
    client plain_one{url_of("plain")};
    client blind{url_of("blind")};
    EXPECT_EQ(inspect(plain_one, "job").holders.at(0).client, presence::connected);
    EXPECT_EQ(inspect(blind, "job").holders.at(0).client, presence::unknown);
    EXPECT_EQ(list(blind).at(0).holders.at(0).client, presence::unknown);
    server.command({"SET", "foreign", "somebody's token"});
    EXPECT_EQ(inspect(plain_one, "foreign").holders.at(0).client, presence::unknown);
    // As if the holder had died: its owner token stays.
    const auto token = server.command({"GET", "job"}).text;
    server.command({"SET", "left", "AAAAAAAAAAAAAAAAAAAAAA" + token.substr(22)});
    EXPECT_EQ(inspect(plain_one, "left").holders.at(0).client, presence::gone);
    EXPECT_EQ(inspect(blind, "left").holders.at(0).client, presence::unknown);
}

TEST(messages, refused_for_a_while_are_received_again_afterwards) {
    redis_server server{{.users = {"eve on >pw ~* &* +@all"}}};
    client c{server.url()};
    client d{"redis://eve:pw@127.0.0.1:" + std::to_string(server.port())};
    mutex lock{c, "job"};
    mutex others{d, "job"};
    lease held = lock.acquire();
    event_recorder events{d};
    auto waiter = waiter_for(others);
    ASSERT_TRUE(waits<plain>(server, "job"));
    const auto listening = [&] {  // the waiter, and the holder, which can be asked for the lock
        return server.command({"PUBSUB", "CHANNELS", "holdfast:wake:*"}).items.size() == 2;
    };
    ASSERT_TRUE(eventually(patience, listening));

    // Open connections stay open, new ones are refused.
    ASSERT_EQ(server.command({"ACL", "SETUSER", "eve", "resetpass", ">changed"}).text, "OK");
    server.command({"CLIENT", "KILL", "TYPE", "pubsub"});
    ASSERT_TRUE(events.has(event_kind::no_channel_right));
    ASSERT_EQ(server.command({"ACL", "SETUSER", "eve", "resetpass", ">pw"}).text, "OK");
    ASSERT_TRUE(eventually(patience, listening));

    // 25 to 50 ms between polls without messages, a second with them.
    const auto before = d.stats().commands_sent;
    const stopwatch since;
    EXPECT_FALSE(ready(waiter, 2s));
    EXPECT_LE(d.stats().commands_sent - before, 4U * static_cast<unsigned>(since.took() / 1s + 1));
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(waiter.get().valid());
}

TEST(messages, refused_before_any_wait_are_not_reported_once_they_are_allowed) {
    redis_server server{{.users = {"eve on >pw ~* resetchannels +@all"}}};
    client c{server.url()};
    client d{"redis://eve:pw@127.0.0.1:" + std::to_string(server.port())};
    const lease held = mutex(d, "job").acquire();
    // The holder's client tries to subscribe to requests for the lock.
    ASSERT_TRUE(eventually(patience, [&] { return !server.command({"ACL", "LOG"}).items.empty(); }));
    ASSERT_EQ(server.command({"ACL", "SETUSER", "eve", "allchannels"}).text, "OK");
    const auto listens = [&] {
        server.command({"CLIENT", "KILL", "TYPE", "normal"});
        return eventually(500ms, [&] {
            return server.command({"PUBSUB", "CHANNELS", "holdfast:wake:*"}).items.size() == 1;
        });
    };
    ASSERT_TRUE(eventually(patience, listens));

    const event_recorder events{d};
    mutex others{c, "other"}, wanted{d, "other"};
    lease other = others.acquire();
    auto waiter = waiter_for(wanted);
    ASSERT_TRUE(waits<plain>(server, "other"));
    EXPECT_TRUE(other.release());
    EXPECT_TRUE(waiter.get().valid());
    EXPECT_EQ(events.count(event_kind::no_channel_right), 0U);
}

TYPED_TEST(rights_of, user_without_scripts_gets_the_text_of_the_server) {
    client c{this->url_of("unscripted")};
    event_recorder events{c};
    auto lock = TypeParam::make(c, "job");
    try {
        lease held = lock.try_acquire({.ttl = 2s});
        // The mutex is acquired by a plain SET, and cannot be released then.
        ASSERT_TRUE((std::is_same_v<TypeParam, plain>));
        EXPECT_EQ(held.release(), release_outcome::unknown_until);
        EXPECT_TRUE(events.has(event_kind::release_failed));
        EXPECT_TRUE(eventually(patience, [&] { return !exists(this->server, "job"); }));
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::no_permission);
        EXPECT_NE(e.server_text().find("NOPERM"), std::string::npos) << e.server_text();
    }
}

TYPED_TEST(rights_of, user_without_the_key_gets_the_text_of_the_server) {
    client c{this->url_of("elsewhere")};
    auto lock = TypeParam::make(c, "job");
    try {
        lock.lock();
        ADD_FAILURE() << "locked without the right";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::no_permission);
        EXPECT_EQ(e.code(), condition::misuse);
        EXPECT_FALSE(e.server_text().empty());
    }
    EXPECT_FALSE(exists(this->server, "job"));
}

// A lock that never ends would be worse than none.
TYPED_TEST(rights_of, user_who_cannot_set_a_ttl_leaves_no_key_behind) {
    client c{this->url_of("eternal")};
    auto lock = TypeParam::make(c, "job");
    try {
        // The mutex gets its TTL by SET.
        EXPECT_TRUE(lock.try_acquire({.ttl = 5s}).release() == release_outcome::released);
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::no_permission);
    }
    EXPECT_FALSE(exists(this->server, "job"));
}

TYPED_TEST(rights_of, wrong_password_is_reported_soon) {
    for (const auto& url : {this->url_of("plain", "wrong"), this->url_of("nobody")}) {
        client c{url};
        auto lock = TypeParam::make(c, "job");
        const stopwatch since;
        EXPECT_EQ(code_of([&] { (void)lock.try_lock(); }), errc::no_permission);
        EXPECT_EQ(code_of([&] { lock.lock(); }), errc::no_permission);
        EXPECT_LT(since.took(), 1s + slack);
    }
}

// The work done before a refused command is undone, or expires.
template <class Semaphore>
class rights_of_semaphores : public rights {};
using both_semaphores = ::testing::Types<counting_semaphore, permit_semaphore>;
TYPED_TEST_SUITE(rights_of_semaphores, both_semaphores);

TYPED_TEST(rights_of_semaphores, user_with_partial_rights_costs_no_permits) {
    client everything{this->server.url()};
    TypeParam permits{everything, "job"};
    ASSERT_TRUE(permits.try_set_permits(5));
    client unlisting{this->url_of("unlisting")};
    client uncounting{this->url_of("uncounting")};
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(code_of([&] { (void)TypeParam(unlisting, "job").try_acquire(); }), errc::no_permission);
        lease held = TypeParam(uncounting, "job").try_acquire({.ttl = 2s});
        ASSERT_TRUE(held);
        EXPECT_EQ(held.release(), release_outcome::unknown_until);
    }
    EXPECT_TRUE(eventually(patience, [&] { return permits.available_permits() == 5; }));
}

// A reader joins others: its field and its mark both exist, or neither does.
TEST_F(rights, reader_with_partial_rights_leaves_no_trace_among_the_readers) {
    client everything{server.url()};
    shared_mutex first{everything, "job"};
    const lease reading = first.try_acquire_shared({.ttl = 5s});
    ASSERT_TRUE(reading);
    const auto before = server.keys();
    const auto fields = server.command({"HGETALL", "job"});
    for (const auto* user : {"unmarking", "unlengthening", "unsetting", "unwriting"}) {
        SCOPED_TRACE(user);
        client limited{url_of(user)};
        shared_mutex theirs{limited, "job"};
        EXPECT_EQ(code_of([&] { (void)theirs.try_acquire_shared(); }), errc::no_permission);
        EXPECT_EQ(server.command({"HGETALL", "job"}), fields);
        EXPECT_EQ(server.keys(), before);
    }
}

// The right to one queue may be revoked and granted again; the right to the others stays in use.
class right_to_a_queue : public rights {
  protected:
    void revoke_queue() { set({"resetkeys", "~job", "~other", "~holdfast:*{other}*"}); }
    void grant_queue() { set({"resetkeys", "~job", "~other", "~holdfast:*"}); }
    // Whether the client polls: each poll is one SET.
    bool polls() {
        server.command({"CONFIG", "RESETSTAT"});
        return eventually(patience, [&] {
            return server.command({"INFO", "commandstats"}).text.find("cmdstat_set:") != std::string::npos;
        });
    }
    client everything{server.url()};
    client partial{url_of("partial")};

  private:
    void set(const std::vector<std::string>& rules) {
        std::vector<std::string> all{"ACL", "SETUSER", "partial"};
        all.insert(all.end(), rules.begin(), rules.end());
        ASSERT_EQ(server.command(all).text, "OK");
    }
};

TEST_F(right_to_a_queue, that_is_missing_for_one_name_is_used_for_the_others) {
    revoke_queue();
    lease job = mutex(everything, "job").acquire();
    lease other = mutex(everything, "other").acquire();
    mutex job_wanted{partial, "job"}, other_wanted{partial, "other"};
    EXPECT_FALSE(job_wanted.try_acquire_for(100ms));
    auto waiter = waiter_for(other_wanted);
    EXPECT_TRUE(waits<plain>(server, "other"));
    EXPECT_EQ(other.release(), release_outcome::released);
    EXPECT_TRUE(waiter.get().valid());
}

TEST_F(right_to_a_queue, that_is_granted_later_is_used) {
    revoke_queue();
    lease job = mutex(everything, "job").acquire();
    mutex wanted{partial, "job"};
    auto waiter = waiter_for(wanted);
    ASSERT_TRUE(polls());
    EXPECT_EQ(queued(server, "job"), 0);
    grant_queue();
    EXPECT_TRUE(waits<plain>(server, "job"));
    EXPECT_EQ(job.release(), release_outcome::released);
    EXPECT_TRUE(waiter.get().valid());
}

// The client is queued when the right is revoked, and polls from then on. The hand-off is for 3 s.
TEST_F(right_to_a_queue, that_is_revoked_during_a_wait_does_not_extend_a_hand_off) {
    mutex job{everything, "job"};
    mutex theirs{partial, "job"};
    lease held = job.acquire();
    auto waiter = waiter_for(theirs);
    ASSERT_TRUE(waits<plain>(server, "job"));
    revoke_queue();
    // It has asked once more since, but not for its place in the queue.
    ASSERT_TRUE(polls());
    EXPECT_EQ(held.release(), release_outcome::released);
    const auto got = waiter.get();
    ASSERT_TRUE(got.valid());
    EXPECT_GE(milliseconds{server.command({"PTTL", "job"}).number}, got.remaining());
}

}  // namespace
}  // namespace holdfast::test
