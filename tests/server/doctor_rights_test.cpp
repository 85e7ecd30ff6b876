// The doctor names a missing right, and the command that it prints grants it.
#include "server/doctor_scene.hpp"

namespace holdfast::test {
namespace {

struct user_with_few_rights : ::testing::Test {
    redis_server server;

    void let(const std::string& rules) {
        auto words = split("ACL SETUSER alice reset on >pw " + rules);
        ASSERT_EQ(server.command(words).text, "OK") << rules;
    }
    std::string url() const {
        return "redis://alice:pw@127.0.0.1:" + std::to_string(server.port()) + options;
    }
    examination look(std::optional<kind> kind = {}, const std::string& name = "job") {
        return examined(url(), {.name = lock_name{name}, .kind = kind});
    }
    std::string options;  // of the URL
    void mend(const finding& f) {
        ASSERT_TRUE(f.mending.starts_with("ACL SETUSER alice ")) << f.mending;
        ASSERT_EQ(server.command(split(f.mending)).text, "OK") << f.mending;
    }
};

TEST_F(user_with_few_rights, all_rights_are_reported_as_ok) {
    let("~* &* +@all");
    const auto all = look();
    EXPECT_TRUE(missing(all).empty()) << all_of(all);
    EXPECT_EQ(worst_of(all, "rights"), severity::ok);
    EXPECT_EQ(worst_of(all, "rights-of-other-kinds"), std::nullopt);
}

struct lack {
    const char* rules;
    const char* id;
    const char* rule;  // that is printed
    severity how_bad;
    kind of = kind::native;
    const char* options = "";
};

struct one_missing_right : user_with_few_rights, ::testing::WithParamInterface<lack> {};

TEST_P(one_missing_right, is_named_and_the_printed_command_grants_it) {
    const auto& p = GetParam();
    options = p.options;
    let(p.rules);
    const auto all = look(p.of);
    const auto some = missing(all);
    ASSERT_EQ(some.size(), 1U) << all_of(all);
    EXPECT_EQ(some[0].id, p.id);
    EXPECT_EQ(some[0].how_bad, p.how_bad) << some[0].found;
    EXPECT_EQ(some[0].mending, std::string{"ACL SETUSER alice "} + p.rule);
    EXPECT_EQ(some[0].falls, promise::live);
    EXPECT_EQ(worst_of(all, "rights"), std::nullopt);
    mend(some[0]);
    const auto mended = look(p.of);
    EXPECT_TRUE(missing(mended).empty()) << all_of(mended);
    EXPECT_EQ(worst_of(mended, "rights"), severity::ok) << all_of(mended);
}

constexpr lack lacks[] = {
    {"~* &* +@all -set", "missing-command", "+set", severity::danger},
    {"~* &* +@all -del", "missing-command", "+del", severity::danger},
    {"~* &* +@all -zpopmin", "missing-command", "+zpopmin", severity::warning},
    {"~* &* +@all -evalsha", "missing-command", "+evalsha", severity::danger},
    {"~* &* +@all -eval", "missing-command", "+eval +evalsha", severity::danger},
    {"~* &* +@all -publish", "missing-command", "+publish", severity::warning},
    {"~* &* +@all -subscribe", "missing-command", "+subscribe", severity::warning},
    {"~* &* +@all -time", "missing-command", "+time", severity::danger},
    {"~* &* +@all -wait", "missing-command", "+wait", severity::note},
    {"~holdfast:* &* +@all", "missing-key", "~job", severity::danger},
    {"~holdfast:* %R~job &* +@all", "missing-key", "~job", severity::danger},
    {"~job &* +@all", "missing-key", "~holdfast:q1:{job}", severity::warning},
    {"~* resetchannels +@all", "missing-channel", "&holdfast:wake:*", severity::warning},
    {"~* &* +@all -hexists", "missing-command", "+hexists", severity::danger, kind::recursive},
    {"~* &holdfast:* +@all", "missing-channel", "&redisson_lock__channel:{job}", severity::warning,
     kind::recursive},
    {"~* &holdfast:* +@all", "missing-channel", "&redisson_lock__channel:{job}:*", severity::warning,
     kind::fair},
    {"~job ~holdfast:* ~redisson_lock_queue:* &* +@all", "missing-key", "~redisson_lock_timeout:{job}",
     severity::danger, kind::fair},
    {"~* &* +@all -pubsub|numsub", "missing-command", "+pubsub|numsub", severity::warning, kind::fair},
    {"~job &* +@all", "missing-key", "~redisson_lock_token:{job}", severity::danger, kind::recursive_fenced},
    {"~job &* +@all", "missing-key", "~{job}:*:rwlock_timeout:1", severity::danger, kind::shared_write},
    {"~job ~holdfast:p1:* &* +@all", "missing-key", "~holdfast:o1:{job}:*", severity::danger,
     kind::semaphore},
    {"~job ~holdfast:o1:* &* +@all", "missing-key", "~{job}:timeout", severity::danger,
     kind::permit_semaphore},
    {"~* &holdfast:* +@all", "missing-channel", "&redisson_countdownlatch__channel__{job}", severity::warning,
     kind::latch},
    // Rights of the client itself, where the URL's options need them.
    {"~* &* +@all -info", "missing-command", "+info", severity::danger, kind::native,
     "?restarts=quarantined"},
    {"~* &* +@all -info", "missing-command", "+info", severity::danger, kind::fair, "?failover=grace"},
    {"~job ~holdfast:q1:* &* +@all", "missing-key", "~holdfast:promoted", severity::warning, kind::native,
     "?failover=grace"},
    {"~* &* +@all -time", "missing-command", "+time", severity::warning, kind::latch, "?failover=grace"},
};
INSTANTIATE_TEST_SUITE_P(, one_missing_right, ::testing::ValuesIn(lacks));

TEST_F(user_with_few_rights, rights_of_the_client_itself_are_needed_if_its_url_needs_them) {
    let("~job ~holdfast:q1:* &* +@all -info");
    EXPECT_TRUE(missing(look()).empty()) << all_of(look());
    options = "?restarts=quarantined";
    EXPECT_EQ(missing(look()).size(), 1U) << all_of(look());
    options = "?failover=grace&restarts=trusted&longest_lease=7s";
    const auto both = missing(look());
    ASSERT_EQ(both.size(), 2U) << all_of(look());
    // Each names its effect, and one command grants all that is missing.
    EXPECT_NE(
        both[0].found.find("may not run info; failover=grace needs it, else the server does not say which "
                           "run of it this is, so no lock is granted at all"),
        std::string::npos)
        << both[0].found;
    EXPECT_NE(both[1].found.find("\"holdfast:promoted\"; failover=grace needs it, else after a failover each "
                                 "client waits for 7s"),
              std::string::npos)
        << both[1].found;
    for (const auto& f : both) EXPECT_EQ(f.mending, "ACL SETUSER alice +info ~holdfast:promoted");
    // Without a name too: these keys are known.
    EXPECT_EQ(missing(examined(url())).size(), 2U);
    mend(both[0]);
    EXPECT_TRUE(missing(look()).empty()) << all_of(look());
}

// Before, the doctor reported only that it could not read INFO.
TEST_F(user_with_few_rights, missing_right_to_info_is_a_danger_with_a_quarantine) {
    let("~* &* +@all -info");
    const auto refused = [&] {
        return code_of([&] {
            client c{url()};
            (void)mutex(c, "job").try_acquire();
        });
    };
    EXPECT_EQ(refused(), std::error_code{});
    EXPECT_EQ(worst_of(look(), "missing-command"), std::nullopt);
    for (const auto* quarantine :
         {"?restarts=quarantined", "?failover=grace", "?failover=grace&restarts=trusted"}) {
        options = quarantine;
        let("~* &* +@all -info");
        EXPECT_EQ(refused(), errc::no_permission) << quarantine;
        const auto all = look();
        EXPECT_EQ(worst_of(all, "missing-command"), severity::danger) << quarantine << "\n" << all_of(all);
        mend(missing(all).at(0));
        EXPECT_NE(refused(), errc::no_permission) << "it may still be quarantined";
    }
}

TEST_F(user_with_few_rights, printed_commands_in_turn_make_a_user_who_can_lock) {
    let("resetchannels -@all +@connection");
    // EVAL first: without it nothing else can be asked.
    for (int round = 0; round < 3; ++round) {
        for (const auto& f : missing(look())) mend(f);
    }
    const auto all = look();
    EXPECT_TRUE(missing(all).empty()) << all_of(all);
    EXPECT_EQ(worst_of(all, "rights"), severity::ok);

    // The user can lock, wait and receive messages.
    client c{url()};
    client d{url()};
    event_recorder events{d};
    mutex lock{c, "job"};
    mutex others{d, "job"};
    lease held = lock.acquire();
    auto waiter = waiter_for(others);
    ASSERT_TRUE(waits<plain>(server, "job"));
    EXPECT_EQ(held.release(), release_outcome::released);
    lease got = waiter.get();
    EXPECT_TRUE(got.valid());
    EXPECT_EQ(got.release(), release_outcome::released);
    EXPECT_EQ(events.count(event_kind::no_channel_right), 0U);
}

TEST_F(user_with_few_rights, missing_rights_of_other_kinds_are_notes_with_a_command_each) {
    let("~job ~holdfast:q1:{job} &holdfast:wake:* +@all");
    const auto all = look();
    EXPECT_TRUE(missing(all).empty()) << all_of(all);
    EXPECT_EQ(worst_of(all, "rights"), severity::ok);
    const auto others = found(all, "rights-of-other-kinds");
    ASSERT_GE(others.size(), 6U) << all_of(all);
    for (const auto& f : others) {
        EXPECT_EQ(f.how_bad, severity::note);
        mend(f);
    }
    EXPECT_EQ(worst_of(look(), "rights-of-other-kinds"), std::nullopt);
}

TEST_F(user_with_few_rights, keys_are_not_judged_without_a_lock_name) {
    let("~stock:* &* +@all");
    const auto all = examined(url());
    EXPECT_TRUE(missing(all).empty()) << all_of(all);
    EXPECT_EQ(worst_of(all, "rights"), severity::note);
    EXPECT_EQ(missing(look()).size(), 2U);
    EXPECT_EQ(missing(look({}, "stock:1")).size(), 1U);  // its queue
}

// The lock's name may look like a pattern, or have bytes that no rule can hold.
TEST_F(user_with_few_rights, odd_names_get_rules_that_match_them) {
    for (const std::string& name :
         {std::string{"a*[b]?\\c"}, std::string{"two words"}, std::string{"t\xff{x}\n"}}) {
        let("&* +@all");
        for (const auto& f : missing(look({}, name))) mend(f);
        const auto all = look({}, name);
        EXPECT_TRUE(missing(all).empty()) << all_of(all);
        EXPECT_FALSE(missing(look({}, "other")).empty());
    }
}

TEST_F(user_with_few_rights, printed_selector_has_the_rights_of_the_client_itself_too) {
    options = "?failover=grace";
    ASSERT_EQ(server
                  .command({"ACL", "SETUSER", "alice", "reset", "on", ">pw", "+acl|getuser", "+acl|whoami",
                            "(+@all ~job ~holdfast:q1:* &*)"})
                  .text,
              "OK");
    const auto some = missing(look());
    ASSERT_EQ(some.size(), 1U) << all_of(look());
    mend(some[0]);
    EXPECT_TRUE(missing(look()).empty()) << all_of(look());
}

// Redis 7: rights in selectors are not added to the others, so a rule alone would mend nothing.
TEST_F(user_with_few_rights, selector_is_mended_by_a_selector) {
    ASSERT_EQ(server
                  .command({"ACL", "SETUSER", "alice", "reset", "on", ">pw", "+acl|getuser", "+acl|whoami",
                            "(+@all -zpopmin ~* &*)"})
                  .text,
              "OK");
    const auto all = look();
    const auto some = missing(all);
    ASSERT_EQ(some.size(), 1U) << all_of(all);
    EXPECT_NE(some[0].mending.find("ACL SETUSER alice (+"), std::string::npos) << some[0].mending;
    mend(some[0]);
    EXPECT_TRUE(missing(look()).empty()) << all_of(look());
}

TEST_F(user_with_few_rights, keys_that_no_selector_covers_together_are_found) {
    ASSERT_EQ(server
                  .command({"ACL", "SETUSER", "alice", "reset", "on", ">pw", "+@all", "&*", "~job",
                            "(+@all ~holdfast:* &*)"})
                  .text,
              "OK");
    const auto all = look();
    const auto some = missing(all);
    ASSERT_EQ(some.size(), 1U) << all_of(all);
    EXPECT_EQ(some[0].id, "missing-key");
    mend(some[0]);
    EXPECT_TRUE(missing(look()).empty()) << all_of(look());
}

TEST_F(user_with_few_rights, settings_that_may_not_be_read_are_unknown) {
    let("~* &* +@all -info -config -acl -pubsub -time -cluster");
    const auto all = look();
    for (const auto* id :
         {"version", "eviction-policy", "persistence", "role", "clock-offset", "idle-timeout"})
        EXPECT_EQ(worst_of(all, id), severity::unknown) << id;
    EXPECT_EQ(missing(all).at(0).mending, "ACL SETUSER alice +time");
}

TEST_F(user_with_few_rights, error_of_a_lock_names_the_right_and_refers_to_the_doctor) {
    const auto error_of = [&](auto&& act) -> std::string {
        try {
            act();
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::no_permission);
            EXPECT_NE(e.server_text(), "");
            EXPECT_EQ(e.server_text().find("holdfast"), std::string::npos) << "ours: " << e.server_text();
            return e.what();
        }
        return "no error";
    };
    const auto lock = [&] {
        client c{url()};
        mutex m{c, "job"};
        (void)m.try_acquire();
    };
    const auto lock_recursive = [&] {
        client c{url()};
        recursive_mutex m{c, "job"};
        (void)m.try_acquire();
    };
    const auto lower = [](std::string text) {
        for (char& c : text)
            if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        return text;
    };
    const auto has = [&](const std::string& text, const std::string& part) {
        // Valkey spells the commands of scripts in small letters.
        return lower(text).find(lower(part)) != std::string::npos &&
               text.find("holdfast doctor") != std::string::npos;
    };
    let("~* &* +@all -set");
    EXPECT_TRUE(has(error_of(lock), "the right to run set")) << error_of(lock);
    let("~other &* +@all");
    EXPECT_TRUE(has(error_of(lock), "the right to a key")) << error_of(lock);
    let("~* &* +@all -hkeys");
    EXPECT_TRUE(has(error_of(lock_recursive), "the right to run hkeys")) << error_of(lock_recursive);

    // A client without the right to listen polls, and an event says so.
    let("~* resetchannels +@all");
    client holder{server.url()};
    mutex theirs{holder, "job"};
    lease held = theirs.acquire();
    client c{url()};
    std::promise<std::string> detail;
    std::atomic<bool> reported{false};
    const auto listening = c.on_event([&](const event& e) {
        if (e.kind == event_kind::no_channel_right && !reported.exchange(true)) detail.set_value(e.detail);
    });
    mutex m{c, "job"};
    auto waiter = waiter_for(m);
    auto said_why = detail.get_future();
    ASSERT_TRUE(ready(said_why, patience));
    const auto why = said_why.get();
    EXPECT_TRUE(has(why, "the right to a channel")) << why;
    EXPECT_EQ(held.release(), release_outcome::released);
    EXPECT_TRUE(waiter.get().valid());
}

}  // namespace
}  // namespace holdfast::test
