// A lock on five independent servers.
#include "server/redlock_scene.hpp"

#include <set>

namespace holdfast::test {
namespace {

class redlock : public five_servers {};

TEST_F(redlock, has_one_owner_token_on_all_members_and_releases_all) {
    client c{with()};
    mutex m{c, "job"};
    EXPECT_EQ(c.strength(), strength::quorum);
    auto held = m.acquire();
    EXPECT_TRUE(held.valid());
    EXPECT_EQ(held.strength(), strength::quorum);
    EXPECT_TRUE(eventually(patience, [&] { return members_with("job") == n; }));
    for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(token_on(i, "job"), held.owner().str());
        EXPECT_GT(servers[i].command({"PTTL", "job"}).number, 20'000);
    }
    EXPECT_EQ(held.owner().str().substr(22, 1), "|") << "owner tokens look like a mutex's";
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(eventually(patience, [&] { return members_with("job") == 0; }));
    for (auto& s : servers) EXPECT_EQ(s.keys(), std::vector<std::string>{"holdfast:redlock"});
}

TEST_F(redlock, excludes_other_clients_and_yields_to_the_majority_of_another) {
    client c{with()};
    client d{with()};
    mutex mine{c, "job"};
    mutex theirs{d, "job"};
    {
        auto held = mine.acquire();
        EXPECT_FALSE(theirs.try_acquire());
        EXPECT_TRUE(held.release());
    }
    // A vote for their first attempt may have come late, and its undoing may still be on its way.
    EXPECT_TRUE(eventually(patience, [&] { return static_cast<bool>(theirs.try_acquire()); }));
    EXPECT_TRUE(eventually(patience, [&] { return members_with("job") == 0; }));

    block({0, 1}, "job");
    EXPECT_TRUE(mine.try_acquire()) << "a minority excludes no client";
    block({0, 1, 2}, "job");
    EXPECT_FALSE(mine.try_acquire());
    EXPECT_TRUE(eventually(patience, [&] { return members_with("job") == 3; })) << "the other two are undone";
}

TEST_F(redlock, each_attempt_has_its_own_owner_token) {
    fault_proxy net{servers[4]};
    auto members = url();
    members.replace(members.find(servers[4].url()), servers[4].url().size(), net.url());
    client c{settings(members)};
    mutex m{c, "job"};
    block({0, 1, 2}, "job");
    std::set<std::string> tokens;
    auto wait = waiter_for(m);
    ASSERT_TRUE(eventually(patience, [&] {
        for (const auto& words : net.commands())
            if (words.size() > 2 && words[0] == "SET" && words[1] == "job") tokens.insert(words[2]);
        return tokens.size() >= 3;
    }));
    unblock({0, 1, 2}, "job");
    auto held = wait.get();
    ASSERT_TRUE(held);
}

TEST_F(redlock, contending_clients_both_make_progress) {
    client c{with()};
    client d{with()};
    mutex mine{c, "job"};
    mutex theirs{d, "job"};
    std::atomic<int> inside{0};
    const auto turns = [&](mutex& m) {
        return in_background([&m, &inside] {
            for (int i = 0; i < 20; ++i) {
                auto held = m.try_acquire_for(patience);
                if (!held) return i;
                EXPECT_EQ(++inside, 1);
                EXPECT_TRUE(held.valid());
                --inside;
                held.release();
            }
            return 20;
        });
    };
    auto one = turns(mine);
    auto other = turns(theirs);
    EXPECT_EQ(one.get(), 20);
    EXPECT_EQ(other.get(), 20);
}

TEST_F(redlock, serves_threads_and_tasks_of_one_client_too) {
    client c{with()};
    mutex m{c, "job"};
    task_mutex by_task{c, "job"};
    int inside = 0;
    std::vector<std::future<void>> all;
    for (int t = 0; t < 4; ++t) {
        all.push_back(in_background([&] {
            for (int i = 0; i < 10; ++i) {
                const std::lock_guard hold{m};
                EXPECT_EQ(++inside, 1);
                --inside;
            }
        }));
        all.push_back(in_background([&] {
            for (int i = 0; i < 10; ++i) {
                auto held = by_task.acquire();
                EXPECT_EQ(++inside, 1);
                --inside;
                held.release();
            }
        }));
    }
    for (auto& f : all) f.get();
}

TEST_F(redlock, refuses_kinds_that_votes_cannot_provide) {
    client c{with()};
    const auto refusal = [](auto&& lock) { return text_of([&] { (void)lock.try_acquire(); }); };
    EXPECT_NE(refusal(shared_mutex{c, "a"}).find("only mutex and recursive_mutex"), std::string::npos);
    EXPECT_NE(refusal(fair_mutex{c, "a"}).find("queue"), std::string::npos);
    EXPECT_NE(refusal(fenced_mutex{c, "a"}).find("drift apart"), std::string::npos);
    EXPECT_NE(refusal(counting_semaphore{c, "a"}).find("semaphore cannot be counted by votes"),
              std::string::npos);
    EXPECT_NE(text_of([&] { (void)latch{c, "a"}.count(); }).find("latch"), std::string::npos);
    EXPECT_NE(refusal(mutex{c, "holdfast:redlock"}).find("agree on its members"), std::string::npos);
    EXPECT_EQ(code_of([&] { (void)shared_mutex{c, "a"}.try_acquire(); }), condition::misuse);
}

TEST_F(redlock, leaves_no_mark_for_a_client_that_only_looks) {
    {
        client c{with()};
        const event_recorder events{c};
        EXPECT_EQ(inspect(c, "job").layout, "free");
        EXPECT_TRUE(list(c, "*").empty());
        EXPECT_FALSE(evict(c, "job"));
        EXPECT_TRUE(events.has(event_kind::store_up));
    }
    for (auto& s : servers) EXPECT_EQ(s.keys(), std::vector<std::string>{});
    client other{settings(url(relaxed, 3))};
    EXPECT_TRUE(mutex(other, "job").try_acquire()) << "so the first client that locks sets the members";
}

TEST_F(redlock, refuses_another_set_of_members_unless_it_has_another_name) {
    client five{with()};
    mutex m{five, "job"};
    ASSERT_TRUE(m.try_acquire().release());
    client three{settings(url(relaxed, 3))};
    mutex smaller{three, "job"};
    const auto why = text_of([&] { (void)smaller.try_acquire(); });
    EXPECT_NE(why.find("other members"), std::string::npos) << why;
    EXPECT_NE(why.find(std::to_string(servers[4].port())), std::string::npos) << why;
    EXPECT_EQ(code_of([&] { (void)smaller.try_acquire(); }), condition::misuse);

    client named{settings(url(relaxed + "name=orders,", 3))};
    EXPECT_TRUE(mutex(named, "other job").try_acquire());

    for (auto& s : servers) s.command({"DEL", "holdfast:redlock"});
    EXPECT_TRUE(eventually(patience, [&] {
        std::error_code ec;
        return static_cast<bool>(smaller.try_acquire(ec));
    })) << "the client looks again, so that an operator can repair it";
}

TEST_F(redlock, refused_client_does_not_block_a_rightful_one) {
    const std::string mark = "holdfast:redlock";
    client right{settings(url(relaxed, 3))};
    ASSERT_TRUE(mutex(right, "job").acquire().release());
    ASSERT_TRUE(eventually(patience, [&] { return exists(servers[2], mark); }));
    servers[2].command({"FLUSHALL"});
    client wrong{"redlock:" + relaxed + servers[0].url() + "," + servers[2].url() + "," + servers[3].url()};
    EXPECT_TRUE(eventually(patience, [&] {
        return text_of([&] { (void)mutex(wrong, "job").try_acquire(); }).find("other members") !=
               std::string::npos;
    }));
    EXPECT_TRUE(eventually(patience, [&] { return !exists(servers[2], mark) && !exists(servers[3], mark); }));
    client again{settings(url(relaxed, 3))};
    EXPECT_TRUE(mutex(again, "job").acquire().release());
}

TEST_F(redlock, does_not_count_a_member_that_hides_which_server_it_is) {
    std::string hidden = "redlock:" + relaxed;
    for (const auto i : {0U, 1U, 2U}) {
        servers[i].command({"ACL", "SETUSER", "guest", "on", ">word", "~*", "&*", "+@all", "-info"});
        hidden += (i > 0 ? "," : "") + ("redis://guest:word@127.0.0.1:" + std::to_string(servers[i].port()));
    }
    client c{hidden};
    std::string why;
    EXPECT_TRUE(eventually(patience, [&] {
        why = text_of([&] { (void)mutex(c, "job").try_acquire(); });
        return why.find("does not say which run") != std::string::npos;
    })) << why;
    EXPECT_EQ(members_with("job"), 0U);
}

TEST_F(redlock, even_number_of_members_is_reported) {
    client four{settings(url(relaxed, 4))};
    const event_recorder events{four};
    EXPECT_TRUE(events.has(event_kind::quorum_even));
    EXPECT_TRUE(mutex(four, "job").try_acquire());
}

TEST_F(redlock, reports_a_weak_and_a_whole_quorum) {
    client c{with()};
    const event_recorder events{c};
    ASSERT_TRUE(mutex(c, "job").try_acquire());
    EXPECT_TRUE(events.has(event_kind::store_up));
    servers[1].stop();
    servers[3].stop();
    EXPECT_TRUE(events.has(event_kind::quorum_weak));
    EXPECT_EQ(events.count(event_kind::store_down), 0U);
    servers[1].start();
    servers[3].start();
    EXPECT_TRUE(events.has(event_kind::quorum_whole));
    for (const auto i : {0, 1, 2}) servers[static_cast<std::size_t>(i)].stop();
    EXPECT_TRUE(events.has(event_kind::store_down));
}

TEST_F(redlock, lease_is_renewed_while_held_and_lost_with_its_majority) {
    client c{with(relaxed, 600ms * slower)};
    mutex m{c, "job"};
    auto held = m.acquire();
    const auto until = boot_clock::now() + 900ms * slower;
    EXPECT_TRUE(eventually(patience, [&] { return boot_clock::now() > until; }));
    EXPECT_TRUE(held.valid());
    unblock({0, 1}, "job");
    const auto renewals = c.stats().renewals;
    EXPECT_TRUE(eventually(patience, [&] { return c.stats().renewals > renewals + 1; }));
    EXPECT_TRUE(held.valid()) << "three still have it";
    unblock({2}, "job");
    EXPECT_TRUE(eventually(patience, [&] { return held.state() == lease_state::lost; }));
    EXPECT_EQ(held.release(), release_outcome::already_lost);
}

TEST_F(redlock, fences_grow_across_majorities_that_share_one_member) {
    client c{with()};
    mutex m{c, "job", {.fenced = true}};
    const auto fence_key = std::string{"holdfast:f1:{job}"};
    auto first = m.acquire();
    EXPECT_EQ(first.strength(), strength::fenced_quorum);
    const auto last = to_number(first.fence());
    EXPECT_GT(last, 0U);
    EXPECT_TRUE(first.release());
    EXPECT_TRUE(eventually(patience, [&] { return members_with("job") == 0; }));

    // The clock of one member is far ahead.
    servers[0].command({"SET", fence_key, std::to_string(last / 16 + 1'000'000'000'000)});
    block({3, 4}, "job");
    auto by_first_three = m.acquire();
    const auto high = to_number(by_first_three.fence());
    EXPECT_GT(high, last + 16'000'000'000'000);
    EXPECT_TRUE(by_first_three.release());
    unblock({3, 4}, "job");
    EXPECT_TRUE(eventually(patience, [&] { return members_with("job") == 0; }));
    // The member with the highest fence cannot be asked, nor can another: one of two received it, or both.
    for (const auto without : {1, 2}) {
        block({0, static_cast<std::size_t>(without)}, "job");
        auto next = m.acquire();
        EXPECT_GT(to_number(next.fence()), high);
        EXPECT_TRUE(next.release());
        unblock({0, static_cast<std::size_t>(without)}, "job");
        EXPECT_TRUE(eventually(patience, [&] { return members_with("job") == 0; }));
    }
}

TEST_F(redlock, is_inspected_listed_and_evicted_on_all_members) {
    client c{with()};
    mutex m{c, "job"};
    EXPECT_EQ(inspect(c, "job").layout, "free");
    auto held = m.acquire();
    ASSERT_TRUE(eventually(patience, [&] { return members_with("job") == n; }));
    const auto seen = inspect(c, "job");
    EXPECT_EQ(seen.layout, "mutex");
    ASSERT_EQ(seen.holders.size(), 1U);
    EXPECT_EQ(seen.holders[0].owner, held.owner().str());
    const auto all = list(c, "*");
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].name, lock_name{"job"});
    EXPECT_TRUE(evict(c, "job"));
    EXPECT_EQ(members_with("job"), 0U);
    EXPECT_FALSE(evict(c, "job"));
    EXPECT_EQ(held.release(), release_outcome::already_lost);

    client d{with()};
    const event_recorder events{d};
    mutex other{d, "job"};
    auto by_message = other.acquire();
    const auto end = evict(c, "job", {.wait = patience});
    ASSERT_EQ(end.from.size(), 1U);
    EXPECT_EQ(end.from[0].how, evicted_holder::way::gave_up);
    ASSERT_TRUE(events.has(event_kind::lost));
    EXPECT_EQ(events.last(event_kind::lost).detail, "it was evicted by an operator");

    servers[0].command({"SET", "torn", "AAAAAAAAAAAAAAAAAAAAAA|1", "PX", "60000"});
    servers[1].command({"SET", "torn", "BBBBBBBBBBBBBBBBBBBBBB|1", "PX", "60000"});
    const auto torn = inspect(c, "torn");
    EXPECT_EQ(torn.layout, "mutex without a majority");
    EXPECT_EQ(torn.holders.size(), 2U);
}

TEST_F(redlock, with_a_silent_member_is_not_reported_without_a_majority) {
    client c{with("restarts=trusted,node_timeout=20ms,")};  // inspect waits ten times as long
    const auto token = std::string{"AAAAAAAAAAAAAAAAAAAAAA|1"};
    for (const auto i : {0U, 1U}) servers[i].command({"SET", "torn", token, "PX", "60000"});
    servers[4].stop();
    EXPECT_EQ(inspect(c, "torn").layout, "mutex, perhaps with a majority");
    EXPECT_EQ(list(c, "t*").at(0).layout, "mutex, perhaps with a majority");
    unblock({1}, "torn");
    EXPECT_EQ(inspect(c, "torn").layout, "mutex without a majority") << "one more vote would not be enough";
    unblock({0}, "torn");
    EXPECT_EQ(inspect(c, "torn").layout, "free");
}

TEST_F(redlock, inspect_names_all_members_that_do_not_answer) {
    client c{with("restarts=trusted,node_timeout=20ms,")};
    EXPECT_EQ(inspect(c, "job").layout, "free");
    for (const auto i : {0U, 1U, 2U}) servers[i].pause();
    const auto why = text_of([&] { (void)inspect(c, "job"); });
    EXPECT_NE(why.find("2 of 5 members have answered, and 3 must"), std::string::npos) << why;
    for (std::size_t i = 0; i < n; ++i)
        EXPECT_EQ(why.find(":" + std::to_string(servers[i].port())) != std::string::npos, i < 3) << why;
    for (const auto i : {0U, 1U, 2U}) servers[i].resume();
}

TEST_F(redlock, refuses_leases_that_a_restarted_member_might_forget) {
    client c{settings(url("longest_lease=2s,"), 1s)};
    mutex m{c, "job"};
    const auto why = text_of([&] { (void)m.try_acquire({.ttl = 3s}); });
    EXPECT_NE(why.find("longest_lease"), std::string::npos) << why;
    client d{settings(url("longest_lease=2s,"), 3s)};
    EXPECT_EQ(code_of([&] { (void)mutex(d, "job").try_acquire(); }), errc::invalid_argument);
    EXPECT_TRUE(list(d).empty()) << "list needs no lease";
}

#if defined(HOLDFAST_COMMAND)
TEST_F(redlock, works_with_the_command_line) {
    const auto run = [&](std::vector<std::string> words) {
        words.insert(words.begin(), HOLDFAST_COMMAND);
        child_process command{words, {{"HOLDFAST_URL", url()}}};
        command.close_input();
        const auto code = command.wait(patience);
        return std::pair{code.value_or(-1), command.output() + command.errors()};
    };
    const auto [code, output] = run({"run", "job", "--", "sh", "-c", "echo \"token $HOLDFAST_TOKEN\""});
    EXPECT_EQ(code, 0) << output;
    EXPECT_NE(output.find("token "), std::string::npos) << output;
    block({0, 1, 2}, "job");
    EXPECT_EQ(run({"run", "-n", "job", "--", "true"}).first, 1);
    EXPECT_NE(run({"inspect", "job"}).second.find("foreign"), std::string::npos);
    EXPECT_EQ(run({"evict", "--yes", "job"}).first, 0);
    EXPECT_EQ(members_with("job"), 0U);
    servers[0].stop();
    EXPECT_EQ(run({"run", "job", "--", "true"}).first, 0);
    for (const auto i : {1U, 2U}) servers[i].stop();
    EXPECT_EQ(run({"run", "-n", "job", "--", "true"}).first, 69);
    EXPECT_EQ(run({"run", "-w", "3s", "job", "--", "true"}).first, 69) << "and not: another client holds it";
}

TEST_F(redlock, works_as_the_examples_of_the_help_show) {
    const auto run = [](std::vector<std::string> words) {
        words.insert(words.begin(), HOLDFAST_COMMAND);
        child_process command{words, {}};
        command.close_input();
        const auto code = command.wait(patience);
        return std::pair{code.value_or(-1), command.output() + command.errors()};
    };
    const auto url_in = [&](const std::string& help) {
        const auto at = help.find("--url redlock:") + std::string_view{"--url "}.size();
        auto url = help.substr(at, help.find(' ', at) - at);
        for (std::size_t i = 0; i < 3; ++i) {
            const auto host = "redis://" + std::string(1, static_cast<char>('a' + i));
            const auto found = url.find(host);
            EXPECT_NE(found, std::string::npos) << url;
            if (found != std::string::npos) url.replace(found, host.size(), servers[i].url());
        }
        return url;
    };
    const auto [listed, locks] = run({"--url", url_in(run({"--help"}).second), "ls"});
    EXPECT_EQ(listed, 0) << locks;
    // Otherwise servers that were just started do not count.
    auto url = url_in(run({"run", "--help"}).second);
    url.insert(std::string_view{"redlock:"}.size(), relaxed);
    const auto [ran, output] = run({"run", "--url", url, "hourly", "--", "echo", "ran"});
    EXPECT_EQ(ran, 0) << output;
    EXPECT_EQ(output, "ran\n");
}
#endif

TEST_F(redlock, with_an_unusable_member_is_refused_while_others_are_being_found) {
    for (int i = 0; i < 50; ++i) {
        const auto why = text_of([&] { client{url(relaxed, 4) + "," + servers[4].url() + "?odd=1"}; });
        ASSERT_NE(why.find("odd"), std::string::npos) << why;
    }
}

TEST_F(redlock, can_be_destroyed_while_its_members_are_being_found) {
    servers[4].stop();
    servers[3].pause();
    for (int i = 0; i < 300; ++i) {
        client c{with("restarts=trusted,node_timeout=5ms,")};
        std::error_code ec;
        if (i % 3 == 0) (void)mutex(c, "job").try_acquire(ec);
        if (i % 3 == 1) (void)c.on_event([](const event&) {});
    }
    servers[3].resume();
}

}  // namespace
}  // namespace holdfast::test
