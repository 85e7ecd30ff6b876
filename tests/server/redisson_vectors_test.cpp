// What Redisson answers in thirty well-known situations, and what we do in each: the same, or something else
// on purpose. docs/wire/redisson-vectors.md is the table of them. Redisson is imitated here; tests/interop
// has real Java.
#include "server/scene.hpp"
#include "support/misuse.hpp"

namespace holdfast::test {
namespace {

// Listens to a channel and keeps its messages.
class listener {
  public:
    listener(redis_server& server, std::string channel)
        : server_(server),
          channel_(std::move(channel)),
          child_({"redis-cli", "-p", std::to_string(server.port()), "SUBSCRIBE", channel_}) {
        EXPECT_TRUE(child_.wait_for_output("subscribe", patience));
    }
    // All messages, each followed by a space.
    [[nodiscard]] std::string messages() {
        const std::string mark = "mark" + std::to_string(++marks_);
        server_.command({"PUBLISH", channel_, mark});
        EXPECT_TRUE(child_.wait_for_output(mark, patience));
        std::string all;
        const std::string before = "message\n" + channel_ + "\n";
        const std::string& output = child_.output();
        for (auto at = output.find(before); at != std::string::npos; at = output.find(before, at + 1)) {
            const auto begin = at + before.size();
            const auto text = output.substr(begin, output.find('\n', begin) - begin);
            if (!text.starts_with("mark")) all += text + ' ';
        }
        return all;
    }

  private:
    redis_server& server_;
    const std::string channel_;
    child_process child_;
    int marks_ = 0;
};

class redisson_vectors : public ::testing::Test {
  protected:
    static constexpr auto queue_key = "redisson_lock_queue:{job}";
    static constexpr auto limits = "redisson_lock_timeout:{job}";
    static constexpr auto rw_channel = "redisson_rwlock:{job}";
    // An owner in Java.
    const std::string stranger = "99999999-0c5e-4a45-9f9e-000000000000:1";

    // Whether PTTL fits a TTL of `set` that was set a moment ago.
    [[nodiscard]] bool about(const std::string& key, milliseconds set) {
        const auto left = pttl(server, key);
        return left <= set && left > set - slack;
    }
    [[nodiscard]] std::string mark_of(const std::string& owner) {
        return "{job}:" + owner + ":rwlock_timeout:1";
    }
    [[nodiscard]] std::string field(const std::string& name) {
        return server.command({"HGET", "job", name}).text;
    }
    [[nodiscard]] std::string queue() {
        std::string all;
        for (const auto& owner : server.command({"LRANGE", queue_key, "0", "-1"}).items)
            all += owner.text + ' ';
        return all;
    }
    [[nodiscard]] bool queue_is(std::int64_t n) {
        return eventually(patience, [&] { return server.command({"LLEN", queue_key}).number == n; });
    }
    // Milliseconds from now.
    [[nodiscard]] std::int64_t limit_of(const std::string& owner) {
        return std::stoll(server.command({"ZSCORE", limits, owner}).text) - server_time();
    }
    [[nodiscard]] std::int64_t server_time() {
        const auto now = server.command({"TIME"}).items;
        return std::stoll(now[0].text) * 1000 + std::stoll(now[1].text) / 1000;
    }
    void enqueue(const std::string& owner, milliseconds limit) {
        server.command({"RPUSH", queue_key, owner});
        server.command({"ZADD", limits, std::to_string(server_time() + limit.count()), owner});
    }
    void add_foreign_reader(milliseconds lease, milliseconds mark) {
        server.command({"HSET", "job", "mode", "read", stranger, "1"});
        server.command({"PEXPIRE", "job", std::to_string(lease.count())});
        if (mark > 0ms) server.command({"SET", mark_of(stranger), "1", "PX", std::to_string(mark.count())});
    }

    redis_server server;
    client a{server.url()};
    client b{server.url()};
};

// --- RLock -------------------------------------------------------------------------------------------

// Differs: in Redisson the second lock shortens the lease to its own.
TEST_F(redisson_vectors, vector_01_nested_lock_is_counted_and_does_not_shorten_the_lease) {
    recursive_mutex lock{a, "job"};
    recursive_mutex brief{a, "job", {.ttl = 10s}};
    recursive_mutex others{b, "job"};
    lock.lock();
    brief.lock();
    const auto owner = recursive::holder(server, "job");
    EXPECT_TRUE(eventually(patience, [&] { return field(owner) == "2"; }));
    EXPECT_TRUE(about("job", 30s));
    EXPECT_FALSE(others.try_lock());
    brief.unlock();
    lock.unlock();
}

// The same.
TEST_F(redisson_vectors, vector_02_client_that_does_not_hold_the_lock_cannot_unlock_it) {
    const misuse_expected here;
    recursive_mutex lock{a, "job"};
    recursive_mutex others{b, "job"};
    event_recorder complaints{b};
    listener published{server, channel_of("job")};
    const lease held = lock.acquire();
    others.unlock();
    EXPECT_TRUE(complaints.has(event_kind::release_failed));
    EXPECT_EQ(field(held.owner().str()), "1");
    EXPECT_EQ(server.keys(), std::vector<std::string>{"job"});
    EXPECT_EQ(published.messages(), "");
}

// Differs: no latch, since a repeated release cannot hurt an owner that is never used again.
TEST_F(redisson_vectors, vector_03_partial_unlock_keeps_the_lease_and_publishes_nothing) {
    recursive_mutex lock{a, "job"};
    listener published{server, channel_of("job")};
    lease outer = lock.acquire();
    lease inner = lock.acquire(outer);
    const auto holds = [&](const std::string& n) {
        return eventually(patience, [&] { return field(outer.owner().str()) == n; });
    };
    EXPECT_TRUE(holds("2"));
    EXPECT_TRUE(inner.release());
    EXPECT_TRUE(inner.release());
    EXPECT_TRUE(holds("1"));
    EXPECT_TRUE(about("job", 30s));
    EXPECT_EQ(server.keys(), std::vector<std::string>{"job"});
    EXPECT_EQ(published.messages(), "");
}

// Differs: no latch. A repeated release is answered from memory.
TEST_F(redisson_vectors, vector_04_last_unlock_frees_the_lock_and_publishes_0) {
    recursive_mutex lock{a, "job"};
    listener published{server, channel_of("job")};
    lease held = lock.acquire();
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(held.release());
    EXPECT_TRUE(server.keys().empty());
    EXPECT_EQ(published.messages(), "0 ");
}

// --- RFairLock ---------------------------------------------------------------------------------------

// Differs in the limits: each request renews ours, so they need not be five minutes.
TEST_F(redisson_vectors, vector_05_queued_waiters_have_limits_that_add_up) {
    fair_mutex lock{a, "job"};
    client d{server.url()};
    fair_mutex others{b, "job"}, third{d, "job"};
    lease held = lock.acquire();
    auto first = waiter_for(others);
    ASSERT_TRUE(queue_is(1));
    auto second = waiter_for(third);
    ASSERT_TRUE(queue_is(2));
    const auto owners = server.command({"LRANGE", queue_key, "0", "-1"}).items;
    const milliseconds liveness = a.settings().redis.fair_liveness;
    const auto begins = liveness.count();
    EXPECT_NEAR(static_cast<double>(limit_of(owners[0].text)), static_cast<double>(begins), 1500.0);
    EXPECT_NEAR(static_cast<double>(limit_of(owners[1].text)), static_cast<double>(begins + liveness.count()),
                2500.0);
    EXPECT_EQ(pttl(server, queue_key), -1ms);
    EXPECT_EQ(pttl(server, limits), -1ms);
    held.release();
    EXPECT_EQ(first.get().owner().str(), owners[0].text);
    EXPECT_EQ(second.get().owner().str(), owners[1].text);
}

// The same.
TEST_F(redisson_vectors, vector_06_try_does_not_join_the_queue) {
    enqueue(stranger, 300s);
    fair_mutex lock{a, "job"};
    EXPECT_FALSE(lock.try_lock());
    EXPECT_EQ(queue(), stranger + ' ');
}

// The same, except for the amount: each client subtracts what it has added itself, which is 5 s for ours.
TEST_F(redisson_vectors, vector_07_head_acquires_and_shortens_the_limits_behind_it) {
    fair_mutex lock{a, "job"};
    fair_mutex others{b, "job"};
    lease held = lock.acquire();
    auto head = waiter_for(others);
    ASSERT_TRUE(queue_is(1));
    enqueue(stranger, 630s);
    EXPECT_EQ(server.command({"EXISTS", "job"}).number, 1);
    EXPECT_FALSE(lock.try_acquire_for(1ms));
    const auto before = limit_of(stranger);
    held.release();
    lease got = head.get();
    EXPECT_TRUE(got.valid());
    EXPECT_TRUE(eventually(patience, [&] { return queue() == stranger + ' '; }))
        << "a waiter that gave up may leave late";
    EXPECT_NEAR(static_cast<double>(before - limit_of(stranger)),
                static_cast<double>(b.settings().redis.fair_liveness.count()), 1000.0);
}

// Differs: Redisson answers any caller that it was unlocked. Ours reports what happened.
TEST_F(redisson_vectors, vector_08_release_of_an_expired_fair_lock_reports_the_expiry) {
    fair_mutex lock{a, "job"};
    lease held = lock.acquire({.ttl = 50ms});
    ASSERT_TRUE(eventually(patience, [&] { return !exists(server, "job"); }));
    EXPECT_EQ(held.release(), release_outcome::already_lost);
}

// The same, with our own 5 s.
TEST_F(redisson_vectors, vector_09_waiter_that_gives_up_shortens_the_limits_behind_it) {
    server.command({"HSET", "job", stranger + "0", "1"});
    fair_mutex lock{a, "job"};
    auto brief = in_background([&] { return lock.try_acquire_for(300ms); });
    ASSERT_TRUE(queue_is(1));
    enqueue(stranger, 600s);
    EXPECT_FALSE(brief.get());
    ASSERT_TRUE(queue_is(1));
    EXPECT_EQ(queue(), stranger + ' ');
    EXPECT_NEAR(static_cast<double>(limit_of(stranger)),
                600'000.0 - static_cast<double>(a.settings().redis.fair_liveness.count()), 1500.0);
}

// Differs: in Redisson it blocks the lock for ever. For us it is dead, since no client listens for it.
TEST_F(redisson_vectors, vector_10_head_without_a_limit_is_skipped_in_time) {
    config brisk = settings(server.url());
    brisk.redis.fair_liveness = 400ms;
    brisk.poll_gap = 200ms;
    client c{brisk};
    fair_mutex lock{c, "job"};
    server.command({"RPUSH", queue_key, stranger});
    EXPECT_TRUE(lock.try_acquire_for(patience).valid());
    EXPECT_EQ(queue(), "");
}

// --- RReadWriteLock ------------------------------------------------------------------------------------

// Differs: nested holds of a reader are counted in the client, and one mark stands for all.
TEST_F(redisson_vectors, vector_11_each_reader_has_a_mark_and_the_longest_lease_counts) {
    shared_mutex lock{a, "job"};
    shared_mutex others{b, "job"};
    lock.lock_shared();
    lock.lock_shared();
    const lease brief = others.acquire_shared({.ttl = 10s});
    EXPECT_EQ(field("mode"), "read");
    EXPECT_EQ(server.command({"HLEN", "job"}).number, 3);
    EXPECT_TRUE(about("job", 30s));
    for (const auto& owner : server.command({"HKEYS", "job"}).items) {
        if (owner.text == "mode") continue;
        EXPECT_EQ(field(owner.text), "1");
        EXPECT_TRUE(about(mark_of(owner.text), owner.text == brief.owner().str() ? 10s : 30s));
    }
    lock.unlock_shared();
    lock.unlock_shared();
}

// Differs for the reader itself: in Redisson it waits for itself for ever. Ours gets an error.
TEST_F(redisson_vectors, vector_12_readers_exclude_writers_and_a_reader_that_upgrades_fails) {
    shared_mutex lock{a, "job"};
    shared_mutex others{b, "job"};
    lock.lock_shared();
    EXPECT_FALSE(others.try_lock());
    EXPECT_EQ(code_of([&] { lock.lock(); }), errc::would_deadlock);
    lock.unlock_shared();
}

// The same.
TEST_F(redisson_vectors, vector_13_last_reader_frees_the_lock) {
    shared_mutex lock{a, "job"};
    shared_mutex others{b, "job"};
    listener published{server, rw_channel};
    lock.lock_shared();
    lock.lock_shared();
    EXPECT_TRUE(others.acquire_shared({.ttl = 10s}).release());
    EXPECT_TRUE(about("job", 30s));
    lock.unlock_shared();
    EXPECT_EQ(field("mode"), "read");
    EXPECT_EQ(published.messages(), "");
    lock.unlock_shared();
    EXPECT_TRUE(server.keys().empty());
    EXPECT_EQ(published.messages(), "0 ");
}

// Differs: nothing is published, and there is no latch.
TEST_F(redisson_vectors, vector_14_unlocking_a_free_lock_changes_nothing) {
    const misuse_expected here;
    shared_mutex lock{a, "job"};
    event_recorder complaints{a};
    listener published{server, rw_channel};
    lock.unlock_shared();
    EXPECT_TRUE(complaints.has(event_kind::release_failed));
    lease run_out = lock.acquire_shared({.ttl = 50ms});
    ASSERT_TRUE(eventually(patience, [&] { return !exists(server, "job"); }));
    EXPECT_EQ(run_out.release(), release_outcome::already_lost);
    EXPECT_TRUE(server.keys().empty());
    EXPECT_EQ(published.messages(), "");
}

// Differs: Redisson adds the leases up.
TEST_F(redisson_vectors, vector_15_nested_write_does_not_add_its_lease) {
    shared_mutex lock{a, "job"};
    shared_mutex others{b, "job"};
    lease outer = lock.acquire();
    lease inner = lock.acquire(outer);
    EXPECT_TRUE(about("job", 30s));
    EXPECT_FALSE(others.try_acquire_shared());
}

// Differs: Redisson publishes nothing when a writer becomes a reader, and readers wait for the TTL.
TEST_F(redisson_vectors, vector_16_writer_that_reads_becomes_a_reader_and_publishes_it) {
    shared_mutex lock{a, "job"};
    listener published{server, rw_channel};
    lease outer = lock.acquire();
    lease inner = lock.acquire(outer);
    lease reading = lock.acquire_shared(outer);
    EXPECT_TRUE(inner.release());
    EXPECT_EQ(field("mode"), "write");
    EXPECT_EQ(published.messages(), "");
    EXPECT_TRUE(outer.release());
    EXPECT_EQ(field("mode"), "read");
    EXPECT_EQ(field(reading.owner().str()), "1");
    EXPECT_EQ(published.messages(), "1 0 ");
    EXPECT_TRUE(reading.valid());
}

// The same, but for the latch.
TEST_F(redisson_vectors, vector_17_writer_that_stops_reading_is_still_the_writer) {
    shared_mutex lock{a, "job"};
    listener published{server, rw_channel};
    lease writing = lock.acquire();
    EXPECT_TRUE(lock.acquire_shared(writing).release());
    EXPECT_EQ(field("mode"), "write");
    EXPECT_EQ(field(writing.owner().str() + ":write"), "1");
    EXPECT_EQ(server.keys(), std::vector<std::string>{"job"});
    EXPECT_EQ(published.messages(), "");
    EXPECT_TRUE(writing.valid());
}

// The same.
TEST_F(redisson_vectors, vector_18_reader_with_an_expired_mark_blocks_no_client) {
    add_foreign_reader(30s, 0ms);
    shared_mutex lock{a, "job"};
    listener published{server, rw_channel};
    EXPECT_TRUE(lock.acquire_shared().release());
    EXPECT_FALSE(exists(server, "job"));
    EXPECT_EQ(published.messages(), "0 ");
}

// Differs: an eviction names the readers, and so it deletes their marks too.
TEST_F(redisson_vectors, vector_19_readers_are_evicted_with_their_marks) {
    shared_mutex lock{a, "job"};
    listener published{server, rw_channel};
    const lease reading = lock.acquire_shared();
    EXPECT_TRUE(evict(b, "job"));
    EXPECT_FALSE(exists(server, "job"));
    EXPECT_FALSE(exists(server, mark_of(reading.owner().str())));
    EXPECT_EQ(published.messages(), "0 ");
}

// 20 to 25, semaphores and the latch, are in redisson_counters_test.cpp.

// --- RFencedLock, renewal, kinds, names ----------------------------------------------------------------

// Differs: Redisson takes a fence for each lock(); ours keep the fence of the outer, and take a few at once.
TEST_F(redisson_vectors, vector_26_fences_grow_and_their_counter_never_expires) {
    constexpr auto counter = "redisson_lock_token:{job}";
    fenced_mutex lock{a, "job"};
    fenced_mutex others{b, "job"};
    lease outer = lock.acquire();
    lease inner = lock.acquire(outer);
    EXPECT_EQ(to_number(outer.fence()), 1U);
    EXPECT_EQ(inner.fence(), outer.fence());
    EXPECT_FALSE(others.try_acquire());
    inner.release();
    outer.release();
    EXPECT_GT(to_number(others.acquire().fence()), 1U);
    EXPECT_EQ(pttl(server, counter), -1ms);
}

// The same.
TEST_F(redisson_vectors, vector_27_renewal_extends_held_locks_and_never_restores_lost_ones) {
    client brisk{settings(server.url(), 600ms * slower)};
    recursive_mutex kept{brisk, "kept"};
    recursive_mutex taken{brisk, "taken"};
    event_recorder complaints{brisk};
    const lease one = kept.acquire();
    const lease two = taken.acquire();
    server.command({"DEL", "taken"});
    EXPECT_TRUE(complaints.has(event_kind::lost));
    EXPECT_FALSE(two.valid());
    EXPECT_TRUE(one.valid());
    EXPECT_EQ(server.keys(), std::vector<std::string>{"kept"});
    auto last = pttl(server, "kept");
    EXPECT_TRUE(eventually(patience,
                           [&] { return pttl(server, "kept") > std::exchange(last, pttl(server, "kept")); }));
}

// Differs: in Redisson the renewal of a reader cuts the lease of all others to its own.
TEST_F(redisson_vectors, vector_28_reader_renews_its_own_mark_and_shortens_no_lease) {
    add_foreign_reader(600s, 600s);
    client brisk{settings(server.url(), 600ms * slower)};
    shared_mutex lock{brisk, "job"};
    const lease reading = lock.acquire_shared();
    const auto mark = mark_of(reading.owner().str());
    auto last = pttl(server, mark);
    EXPECT_TRUE(
        eventually(patience, [&] { return pttl(server, mark) > std::exchange(last, pttl(server, mark)); }));
    EXPECT_TRUE(about("job", 600s));
    EXPECT_TRUE(about(mark_of(stranger), 600s));
}

// Differs: in Redisson both then hold it, or the caller gets the server's WRONGTYPE.
TEST_F(redisson_vectors, vector_29_another_kind_of_lock_on_the_name_is_refused) {
    recursive_mutex lock{a, "job"};
    shared_mutex readers{b, "job"};
    {
        const lease held = lock.acquire();
        EXPECT_EQ(code_of([&] { (void)readers.try_acquire(); }), errc::wrong_kind);
        EXPECT_EQ(code_of([&] { (void)readers.try_acquire_shared(); }), errc::wrong_kind);
    }
    {
        const lease held = readers.acquire_shared();
        EXPECT_EQ(code_of([&] { (void)lock.try_acquire(); }), errc::wrong_kind);
    }
    server.command({"SET", "job", "text"});
    EXPECT_EQ(code_of([&] { (void)lock.try_acquire(); }), errc::wrong_kind);
    EXPECT_EQ(code_of([&] { (void)readers.try_acquire(); }), errc::wrong_kind);
}

// The same names. The cluster's own tests show what they mean in a cluster.
TEST_F(redisson_vectors, vector_30_names_get_braces_unless_they_contain_an_opening_brace) {
    const std::vector<std::pair<std::string, std::string>> names{
        {"plain", "{plain}"},         {"a{b}", "a{b}"}, {"{tag}x", "{tag}x"},
        {R"({"a":1})", R"({"a":1})"}, {"a{", "a{"},     {"a}b", "{a}b}"}};
    for (const auto& [name, braced] : names) {
        shared_mutex readers{a, name + ":rw"};
        const std::string braced_rw = braced == name ? name + ":rw" : "{" + name + ":rw}";
        const lease reading = readers.acquire_shared();
        EXPECT_TRUE(exists(server, braced_rw + ":" + reading.owner().str() + ":rwlock_timeout:1")) << name;

        fair_mutex lock{a, name};
        fair_mutex others{b, name};
        lease held = lock.acquire();
        auto waiter = waiter_for(others);
        const std::string channels = "redisson_lock__channel:" + braced + ":";
        EXPECT_TRUE(eventually(patience, [&] {
            return server.command({"LLEN", "redisson_lock_queue:" + braced}).number == 1 &&
                   server.command({"ZCARD", "redisson_lock_timeout:" + braced}).number == 1;
        })) << name;
        EXPECT_TRUE(eventually(patience, [&] {
            for (const auto& channel : server.command({"PUBSUB", "CHANNELS"}).items)
                if (channel.text.starts_with(channels)) return true;
            return false;
        })) << name;
        held.release();
        EXPECT_TRUE(waiter.get().valid());
    }
}

}  // namespace
}  // namespace holdfast::test
